"""Finds a problem again from the text of its question."""

from collections.abc import Callable
from functools import lru_cache

from soliloquy.v1.conversation_pb2 import Problem

# Enough for the conversations in flight: a problem that is met again later is found again.
REMEMBERED = 1024


class ProblemBook:
    """What the scripted model knows of problems: it sees the question's text and nothing else."""

    def __init__(self, look_up: Callable[[str], Problem | None], draw: Callable[[int], Problem] | None = None) -> None:
        """`draw` gives the problem of a seed, where there is no end of them."""
        self._look_up = lru_cache(maxsize=REMEMBERED)(look_up)
        self.draw = draw

    def recognise(self, question: str) -> Problem | None:
        return self._look_up(as_one_line(question))


def as_one_line(question: str) -> str:
    """The question with its white space evened out, which prompts and files do not keep."""
    return " ".join(question.split())
