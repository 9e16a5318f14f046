"""A written problem in words, as people read it."""

from collections.abc import Mapping
from typing import Any

# Nobody is evaluated, and nothing is gone through step by step.
WORDS: Mapping[str, Mapping[str, str]] = {"evaluations": {}, "actions": {}, "states": {}}
STORY = """\
Each word problem was written to order, together with a Python function that solves it. The function ran in a sandbox,
and what it returned is the answer; both were then held against three criteria: solvable, accurate, appropriate."""


def remark(turn: dict[str, Any]) -> str:
    """What came of a problem's function, from a turn's record."""
    *_, last = turn["soliloquy"]["attempts"] or [None]
    return f"the function ended with {last['status']}" if last else "nothing was written"
