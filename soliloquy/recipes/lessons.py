"""Makes training examples of conversations in the forms that several recipes have."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from soliloquy.recipes.codegen import output
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


def chat(
    conversation: Conversation, system: str, said: Callable[[Turn], Iterable[tuple[str, str]]]
) -> list[TrainingMessage]:
    """Writes a conversation as one chat; `said` gives role and text of what follows the student's message in a turn."""
    told = [TrainingMessage("system", system, turn=0)]
    for turn in conversation.turns:
        if turn.HasField("student"):
            told.append(TrainingMessage("user", turn.student.text, turn=turn.number))
        for role, text in said(turn):
            told.append(TrainingMessage(role, text, turn=turn.number, learned=role == "assistant"))
    return told


def calculation_in_chat(turn: Turn, decision: str, *programs: str) -> Iterator[tuple[str, str]]:
    """Yields the decision with the program that ran, and its output as a tool message; nothing if none ran."""
    if programs and programs[-1]:
        yield "assistant", f"{decision}\n{programs[-1]}"
        yield "tool", output(turn.calculation)
