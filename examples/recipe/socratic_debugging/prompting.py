"""What models are asked and what they answer, in a run and as training examples."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from socratic_debugging.labels_pb2 import TutorLabels
from socratic_debugging.program import change_in, drawn
from soliloquy.recipes.agreement import letter_of
from soliloquy.recipes.answers import Text
from soliloquy.recipes.codegen import has_run, output
from soliloquy.recipes.lessons import chat, lessons_of
from soliloquy.recipes.recipe import Lesson, TrainingMessage
from soliloquy.recipes.records import fields_of
from soliloquy.recipes.templates import Templates, Texts, transcript
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.conversation_pb2 import Conversation, Turn

SLOTS = {
    "student": {"question", "conversation", "change"},
    "tutoring": {"question", "fix", "conversation", "output"},
    "dialogue": {"question", "fix"},
}
TEMPLATES = Templates(Path(__file__).with_name("prompts"), SLOTS, recipe="debugging")


class Guidance(Answer):
    """The tutor's reply, with what the student does not see."""

    thoughts: Text = Field(alias="Thoughts")
    evaluation: Literal["a", "b", "g"] = Field(alias="Evaluation")
    points_at: Literal["output", "line", "value", "purpose"] = Field(alias="Points At")
    text: Text = Field(alias="Text")


def student(conversation: Conversation, number: int) -> Prompt:
    """Returns the prompt for the student's message in a turn."""
    _, change = drawn(conversation, number)
    return _texts(conversation).prompt(
        "student",
        question=conversation.problem.question,
        conversation=transcript(conversation.turns[: number - 1]),
        change=str(change or ""),
    )


def tutoring(conversation: Conversation, number: int) -> Prompt:
    """Returns the prompt for the tutor's reply in a turn."""
    turns = conversation.turns[:number]
    calculation = turns[-1].calculation
    return _texts(conversation).prompt(
        "tutoring",
        **_problem(conversation),
        conversation=transcript(turns, for_reply=True),
        output=output(calculation) if has_run(calculation) else "it did not run",
    )


def prompts(conversation: Conversation) -> list[tuple[int, Prompt]]:
    drawn_for = [turn.number for turn in conversation.turns if turn.HasField("student") and not conversation.person]
    asked = [(number, student(conversation, number)) for number in drawn_for]
    asked += [(turn.number, prompt) for turn, [prompt] in _tutor_prompts(conversation)]
    return sorted(asked, key=lambda each: each[0])


def lessons(conversation: Conversation) -> list[Lesson]:
    return lessons_of(_tutor_prompts(conversation), lambda turn: [_answer(turn)])


def dialogue(conversation: Conversation) -> list[TrainingMessage]:
    return chat(conversation, _texts(conversation).fill("dialogue", **_problem(conversation)), _answer)


def _texts(conversation: Conversation) -> Texts:
    """A run may have changed prompts."""
    return TEMPLATES.of(conversation.run.prompts)


def _tutor_prompts(conversation: Conversation) -> Iterator[tuple[Turn, list[Prompt]]]:
    for turn in conversation.turns:
        if turn.HasField("tutor"):
            yield turn, [tutoring(conversation, turn.number)]


def _problem(conversation: Conversation) -> dict[str, str]:
    problem = conversation.problem
    return {"question": problem.question, "fix": str(change_in(problem.solution) or "unknown")}


def _answer(turn: Turn) -> str:
    reply = turn.tutor
    labels = fields_of(TutorLabels.FromString(reply.labels))
    return Guidance.written(thoughts=reply.thoughts, evaluation=letter_of(turn), text=reply.text, **labels)
