"""What a format is, and which there are."""

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from soliloquy.dataset.exports.dialogue import Dialogue

NAMES = ("openai", "sharegpt", "fastchat", "soliloquies", "mathdial", "sgsm", "alpaca", "hf")
# What may be left out, and what that is.
PARTS = {
    "prompts": "the system message with the problem",
    "solutions": "the expert's solution",
    "thoughts": "what the tutor thinks of the student's message, and the codes: replies are plain text then",
    "labels": "what was drawn for the student: right or wrong, and by which strategy",
    "raw": "what models were asked and answered, word for word",
}

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportOptions:
    """What of each conversation goes into an export."""

    hidden: bool = True
    leave_out: frozenset[str] = frozenset()

    @property
    def prompts(self) -> bool:
        return "prompts" not in self.leave_out

    @property
    def solutions(self) -> bool:
        return "solutions" not in self.leave_out

    @property
    def thoughts(self) -> bool:
        return self.hidden and "thoughts" not in self.leave_out

    @property
    def labels(self) -> bool:
        return self.hidden and "labels" not in self.leave_out

    @property
    def raw(self) -> bool:
        return self.hidden and "raw" not in self.leave_out


@dataclass(frozen=True, kw_only=True)
class Format:
    """One way in which others write conversations down, a row each."""

    # Of the files that may hold it; the first where none is named.
    suffixes: Sequence[str]
    # What a row is made of; its `id` and the problem's `id` and `question` come along.
    columns: Callable[[ExportOptions], Sequence[str]]
    # None for a conversation that has nothing for this format. Raises Unfit.
    row: Callable[[Dialogue, ExportOptions], Row | None]
    # The way back. Raises Unfit.
    dialogue: Callable[[Row], Dialogue]
    # The fields that are made anew in an export: all else that an imported row says is kept word for word.
    made: Collection[str]
    holds_hidden: bool = True
    once_a_problem: bool = False
    # Fields that a conversation of ours has nothing for.
    empty: Sequence[str] = ()
    # What a conversation lacks for which there is no row.
    wants: str = "a reply of the tutor"


@cache
def find(name: str) -> Format:
    form: Format = importlib.import_module(f"soliloquy.dataset.exports.{name}").FORMAT
    return form


def text_of(row: Mapping[str, Any], field: str) -> str:
    """Empty where the field is null or not there."""
    value = row.get(field)
    return value if isinstance(value, str) else "" if value is None else str(value)
