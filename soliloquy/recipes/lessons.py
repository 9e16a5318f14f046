"""Makes training examples of conversations in the forms that several recipes have."""

from collections.abc import Callable, Iterable, Sequence

from soliloquy.recipes.recipe import Lesson, TrainingMessage
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.conversation_pb2 import Conversation, Turn


def lessons_of(
    prompts: Iterable[tuple[Turn, Sequence[Prompt]]], answers: Callable[[Turn], Iterable[str]]
) -> list[Lesson]:
    """Pairs each prompt of a turn with its answer; leaves out prompts whose answer is empty."""
    return [
        Lesson(turn=turn.number, prompt=prompt, answer=answer)
        for turn, asked in prompts
        for prompt, answer in zip(asked, answers(turn), strict=True)
        if answer
    ]


def chat(conversation: Conversation, system: str, answer: Callable[[Turn], str]) -> list[TrainingMessage]:
    """Writes a conversation as one chat of the student's messages and the tutor's answers."""
    told = [TrainingMessage("system", system, turn=0)]
    for turn in conversation.turns:
        told.append(TrainingMessage("user", turn.student.text, turn=turn.number))
        told.append(TrainingMessage("assistant", answer(turn), turn=turn.number, learned=True))
    return told
