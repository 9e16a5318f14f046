"""Reads the segments that people wrote, as the paper's 210 are: one row each, with the dialogue before it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from soliloquy.recipes.answers import Text
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.validated_file import read_model
from soliloquy.v1.conversation_pb2 import Problem, Quantity
from soliloquy_papers.scaffold.evaluate.dialogues import SEGMENT, DialogueCase, DialogueRound


class _Exchange(BaseModel, frozen=True, extra="forbid"):
    student: Text
    tutor: Text


class _Segment(BaseModel, frozen=True, extra="forbid"):
    question: Text
    solution: str = ""
    answer: float
    unit: str = ""
    before: list[_Exchange] = Field(min_length=1)
    # The message that gets a reply, and what people say that it is.
    message: Text
    state: Literal["correct", "incorrect", "question"]


class _Segments(BaseModel, frozen=True):
    line: list[_Segment] = Field(min_length=1)


def read_segments(path: Path, seed: int) -> Iterator[DialogueCase]:
    """Yields the segment of each line; raises Failure with the line and field of the first that is none."""
    for number, one in enumerate(read_model(path, _rows, _Segments).line):
        problem = Problem(
            id=digest("segment", one.question),
            question=one.question,
            solution=one.solution,
            answer=Quantity(value=one.answer, unit=one.unit),
        )
        rounds = [DialogueRound(state="", student=each.student, tutor=each.tutor) for each in one.before]
        last = DialogueRound(state=one.state, student=one.message)
        states: dict[str, float] = {one.state: 1.0}
        yield DialogueCase(
            kind=SEGMENT, number=number, problem=problem, seed=seed, states=states, before=[*rounds, last]
        )


def _rows(text: str) -> dict[str, Any]:
    return {"line": [json.loads(line) for line in text.splitlines() if line.strip()]}
