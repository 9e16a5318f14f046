"""Draws the faults that noise puts into scripted answers, at given rates."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from soliloquy.runtime.files import table_beside

# In a table of faults, a message that is only longer than the stand-in's own.
_LONGER = "over_limit"
# The fields of a JSON answer.
Fields = dict[str, Any]
_FENCE = re.compile(r"```python\n(.*)\n```", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    """How often faults and long messages occur, relative to the rates that were counted."""

    faults: float = 1
    lengths: float = 1


# The levels of noise, by name.
LEVELS = {name: Level(**row) for name, row in table_beside(__file__, "levels.toml").items()}
_COUNTED = Level()


class Rates:
    """The rate of each fault, in tables of which at most one fault applies at a time, and the words of faults."""

    def __init__(self, tables: Mapping[str, Any], level: Level = _COUNTED) -> None:
        self._tables = tables
        self._level = level

    @property
    def words(self) -> Mapping[str, Any]:
        words: Mapping[str, Any] = self._tables["words"]
        return words

    def fault(self, table: str, rng: Random) -> str | None:
        """Draws from a table, or from one within a table: `intent.right`; nothing is drawn from a missing one."""
        rates: Mapping[str, Any] = self._tables
        for name in table.split("."):
            rates = rates.get(name, {})
        drawn, reached = rng.random(), 0.0
        for fault, rate in rates.items():
            reached += rate * (self._level.lengths if fault == _LONGER else self._level.faults)
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
