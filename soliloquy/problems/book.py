"""Finds a problem by the text of its question."""

from collections.abc import Callable
from functools import lru_cache

from soliloquy.v1.conversation_pb2 import Problem

# Enough for the conversations in flight.
REMEMBERED = 1024


class ProblemBook:
    """Looks problems up for the scripted model, which sees only the text of a question."""

    def __init__(self, look_up: Callable[[str], Problem | None], draw: Callable[[int], Problem] | None = None) -> None:
        """`draw` returns the problem of a seed, if the problems come from a bank."""
        self._look_up = lru_cache(maxsize=REMEMBERED)(look_up)
        self.draw = draw

    def recognise(self, question: str) -> Problem | None:
        return self._look_up(as_one_line(question))


def as_one_line(question: str) -> str:
    """Returns the question with runs of white space collapsed, as prompts and files change them."""
    return " ".join(question.split())
