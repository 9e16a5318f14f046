"""The words for a written problem on cards and pages."""

from collections.abc import Mapping
from typing import Any

# The recipe has neither evaluations nor steps.
WORDS: Mapping[str, Mapping[str, str]] = {"evaluations": {}, "actions": {}, "states": {}}
STORY = """\
Each word problem was written to order, together with a Python function that solves it. The function ran in a sandbox,
and what it returned is the answer; both were then held against three criteria: solvable, accurate, appropriate."""


def remark(turn: dict[str, Any]) -> str:
    """Returns how the function ended, from a turn's record."""
    *_, last = turn["soliloquy"]["attempts"] or [None]
    return f"the function ended with {last['status']}" if last else "nothing was written"
