"""Two worked problems, and a book that holds them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from google.protobuf.json_format import ParseDict

from soliloquy.v1.conversation_pb2 import Problem

CART, STONE_FALL = (
    ParseDict(row, Problem()) for row in json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
)


class Shelf:
    """A book of a few problems."""

    draw: Callable[[int], Problem] | None = None

    def __init__(self, problems: Sequence[Problem] = (CART, STONE_FALL)) -> None:
        self._problems = {problem.question: problem for problem in problems}

    def recognise(self, question: str) -> Problem | None:
        return self._problems.get(question)
