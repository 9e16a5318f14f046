"""Plays the answers of a dataset, so that the loop can be tried on text that the scripted engine did not write."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from soliloquy.recipes.recipe import find
from soliloquy.runtime.model import StreamingModel, StreamListener
from soliloquy.texts.phrases import words_of
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_services.model.engines.scripted import word_completion

# The prompts that hold less than the conversation with the student's latest message.
_STUDENT, _PROGRAM = "student", "use_python"
# The parts of a prompt that differ between conversations.
_SECTION = re.compile(r"<(question|conversation|history|message|description)\b[^>]*>(.*?)</\1>", re.DOTALL)


class Recorded(NamedTuple):
    """An answer, and the words of what it answered."""

    words: frozenset[str]
    answer: str


class ReplayedEngine:
    """Answers a prompt as the most similar one of the same name was answered.

    What was never recorded, and what was sent back to be answered once more, goes to another model.
    """

    def __init__(self, conversations: Iterable[Conversation], other: StreamingModel) -> None:
        self._other = other
        self._answers: dict[str, list[Recorded]] = defaultdict(list)
        for conversation in conversations:
            for prompt, recorded in _recorded(conversation):
                self._answers[prompt].append(recorded)

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        known = self._answers.get(request.prompt)
        is_again = any(message.role == "assistant" for message in request.messages)
        if is_again or not known:
            return await self._other.generate(request, stream_listener)
        text = "\n".join(message.text for message in request.messages)
        asked = words_of("\n".join(found[2] for found in _SECTION.finditer(text)) or text)
        nearest = max(known, key=lambda one: len(one.words & asked) / len(one.words | asked))
        completion = word_completion(request.messages, nearest.answer)
        completion.model = completion.engine = "replayed"
        if receive := stream_listener and stream_listener(request):
            receive(nearest.answer)
        return completion


def _recorded(conversation: Conversation) -> Iterator[tuple[str, Recorded]]:
    """Yields each raw answer with its prompt's name; for imported conversations what the messages say."""
    turns, recipe = conversation.turns, conversation.run.recipe
    is_imported = not any(turn.calls for turn in turns) and all(turn.tutor.labels for turn in turns)
    lessons = find(recipe).lessons(conversation) if is_imported else []
    said = words_of(conversation.problem.question)
    for turn in turns:
        answers = [(call.prompt, call.raw[-1]) for call in turn.calls]
        answers += [(one.prompt.name, one.answer) for one in lessons if one.turn == turn.number]
        if is_imported and turn.HasField("student"):
            answers.append((f"{recipe}/{_STUDENT}", turn.student.text))
        described = words_of(turn.calculation.description)
        heard = said | words_of(turn.student.text)
        for prompt, answer in answers:
            state = prompt.partition("/")[2]
            words = described if state == _PROGRAM else said if state == _STUDENT else heard
            yield prompt, Recorded(words, answer)
        said = heard | words_of(turn.tutor.text)
