"""Reads problems with subproblems out of a model's raw answers, as CLASS published them."""

from typing import Any

from pydantic import Field

from soliloquy.problems.files.problem_from_row import BadField
from soliloquy.runtime.answers import Answer, Fields, Unreadable


class Subproblem(Fields):
    question: str = Field(alias="Question")
    answer: str = Field(alias="Answer")
    hint: str = Field(default="", alias="Hint")
    wrong: str = Field(default="", alias="Incorrect Response")
    feedback: str = Field(default="", alias="Feedback")


class RawProblem(Answer):
    """The form that CLASS asks for."""

    problem: str = Field(alias="Problem")
    subproblems: list[Subproblem] = Field(alias="SubProblems", min_length=1)


def parse_raw(text: str) -> dict[str, Any]:
    """Returns the fields of a problem file; hints, wrong answers and feedback go to `extra`. Raises BadField."""
    try:
        raw, _ = RawProblem.read(text)
    except Unreadable as unreadable:
        raise BadField("solution", str(unreadable)) from unreadable
    parts = raw.subproblems
    if not all(part.question.strip() and part.answer.strip() for part in parts):
        raise BadField("solution", "a subproblem lacks its question or its answer")
    return {
        "question": raw.problem,
        "solution": "\n".join(part.answer for part in parts),
        "steps": [{"kind": "concept", "ask": part.question, "explanation": part.answer} for part in parts],
        "extra": {"subproblems": [{"hint": one.hint, "wrong": one.wrong, "feedback": one.feedback} for one in parts]},
    }
