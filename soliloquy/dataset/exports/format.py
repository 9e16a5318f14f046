"""The contract of an export format, and the list of formats."""

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pkgutil import iter_modules
from typing import Any

from soliloquy.dataset.exports.dialogue import Dialogue
from soliloquy.recipes.packages import known_recipes, part

# The parts that an export can leave out, with their descriptions.
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
    """Selects the parts of each conversation to export."""

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
    """A format of other tools, with a row for each conversation."""

    # The file types that can hold it; the first is the default.
    suffixes: Sequence[str]
    # The columns that a row needs, besides `id` and the problem's `id` and `question`.
    columns: Callable[[ExportOptions], Sequence[str]]
    # Returns None for a conversation without a row in this format. Raises CannotConvert.
    row: Callable[[Dialogue, ExportOptions], Row | None]
    # Reads a row back. Raises CannotConvert.
    dialogue: Callable[[Row], Dialogue]
    # Fields that an export rebuilds; an import keeps all other fields verbatim.
    made: Collection[str]
    holds_hidden: bool = True
    once_a_problem: bool = False
    # Fields that our conversations leave empty.
    empty: Sequence[str] = ()
    # Fields that a conversation needs to have a row.
    wants: str = "a reply of the tutor"


@cache
def find(name: str) -> Format:
    form: Format = importlib.import_module(_modules()[name]).FORMAT
    return form


@cache
def _modules() -> Mapping[str, str]:
    """Maps each format's name to its module, which has that name."""
    packages = [importlib.import_module(f"{__package__}.formats"), *(part(name, "formats") for name in known_recipes())]
    return {
        module.name: f"{package.__name__}.{module.name}"
        for package in packages
        if package
        for module in iter_modules(package.__path__)
    }


NAMES = tuple(_modules())


def text_of(row: Mapping[str, Any], field: str) -> str:
    """Returns the field as text; empty if it is null or missing."""
    value = row.get(field)
    return value if isinstance(value, str) else "" if value is None else str(value)
