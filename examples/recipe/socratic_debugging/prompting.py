"""Fills in the recipe's prompts; the scripted speakers read the tagged sections."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from socratic_debugging.labels_pb2 import Insight, StudentLabels
from socratic_debugging.program import fix_of
from soliloquy.recipes.codegen import has_run, output
from soliloquy.recipes.templates import Templates
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.conversation_pb2 import Conversation, Turn

SLOTS = {
    "student": {"question", "conversation", "insight", "change"},
    "tutoring": {"question", "fix", "conversation", "output"},
    "dialogue": {"question", "fix"},
}
TEMPLATES = Templates(Path(__file__).with_name("prompts"), SLOTS, recipe="debugging")


def student(conversation: Conversation, before: Sequence[Turn], insight: Insight, change: str) -> Prompt:
    return TEMPLATES.prompt(
        "student",
        question=conversation.problem.question,
        conversation="\n".join(_lines(before)),
        insight=Insight.Name(insight).removeprefix("INSIGHT_").lower(),
        change=change,
    )


def tutoring(conversation: Conversation, turns: Sequence[Turn]) -> Prompt:
    calculation = turns[-1].calculation
    return TEMPLATES.prompt(
        "tutoring",
        question=conversation.problem.question,
        fix=_fix(conversation),
        conversation="\n".join(_lines(turns)),
        output=output(calculation) if has_run(calculation) else "it did not run",
    )


def preamble(conversation: Conversation) -> str:
    """Returns the system message of a chat to learn from."""
    return TEMPLATES.fill("dialogue", question=conversation.problem.question, fix=_fix(conversation))


def tutor_prompts(conversation: Conversation) -> Iterator[tuple[Turn, Prompt]]:
    for turn in conversation.turns:
        if turn.HasField("tutor"):
            yield turn, tutoring(conversation, conversation.turns[: turn.number])


def prompts(conversation: Conversation) -> list[tuple[int, Prompt]]:
    told = [(turn.number, prompt) for turn, prompt in tutor_prompts(conversation)]
    if not conversation.person:
        told += [(turn.number, _student_prompt(conversation, turn)) for turn in conversation.turns]
    return sorted(told, key=lambda each: (each[0], each[1].name))


def _student_prompt(conversation: Conversation, turn: Turn) -> Prompt:
    from socratic_debugging.student import drawn

    _, change = drawn(conversation, turn.number)
    insight = StudentLabels.FromString(turn.student.labels).insight
    return student(conversation, conversation.turns[: turn.number - 1], insight, change)


def _fix(conversation: Conversation) -> str:
    fix = fix_of(conversation.problem)
    return f"line {fix.line}: `{fix.code}`" if fix else "unknown"


def _lines(turns: Sequence[Turn]) -> Iterator[str]:
    for turn in turns:
        yield f"Student: {turn.student.text}"
        if turn.tutor.text:
            yield f"Tutor: {turn.tutor.text}"
