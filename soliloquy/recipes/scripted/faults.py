"""Draws the faults that noise puts into scripted answers, at given rates."""

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

# The fields of a JSON answer.
Fields = dict[str, Any]
# Puts faults into an answer.
Spoil = Callable[[Fields, "Rates", Random], Fields]
_FENCE = re.compile(r"```python\n(.*)\n```", re.DOTALL)


class Rates:
    """The rate of each fault, in tables of which at most one fault applies at a time, and the words of faults."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self._tables = tables

    @property
    def words(self) -> Mapping[str, Any]:
        words: Mapping[str, Any] = self._tables["words"]
        return words

    def fault(self, table: str, rng: Random) -> str | None:
        drawn, reached = rng.random(), 0.0
        for fault, rate in self._tables[table].items():
            reached += rate
            if drawn < reached:
                return str(fault)
        return None


def unfenced(code: str) -> str:
    return _FENCE.sub(r"\1", code)


def fenced(code: str, fence: str | None) -> str:
    match fence:
        case "single":
            return f"`python\n{code}\n`"
        case "double":
            return f"``python\n{code}\n``"
        case "repeats_python":
            return f"```python\n{code}\n```python"
        case "none":
            return code
        case _:
            return f"```python\n{code}\n```"
