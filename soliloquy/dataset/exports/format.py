"""The contract of an export format, and the list of formats."""

import importlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from soliloquy.dataset.exports.dialogue import Dialogue
from soliloquy.dataset.exports.splitting import Splits
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.packages import known_recipes, part
from soliloquy.runtime.extensions import Extensions

# The parts that an export can leave out, with their descriptions.
PARTS = {
    "hidden": "all but what is said: programs, thoughts, labels and raw",
    "prompts": "the system message with the problem",
    "solutions": "the expert's solution",
    "thoughts": "what the tutor thinks of the student's message, and the codes: replies are plain text then",
    "labels": "what was drawn for the student: right or wrong, and by which strategy",
    "raw": "what models were asked and answered, word for word",
}

Row = dict[str, Any]


class ExportOptions:
    """Selects the parts of each conversation to export."""

    def __init__(self, leave_out: Collection[str] = (), *, uncertain: bool = False, formulas: bool = False) -> None:
        """`uncertain` also exports what rests on a reading rather than on code, algebra or exact text.

        `formulas` leaves cells of CSV as they are that a spreadsheet takes for formulas.
        """
        self.uncertain, self.formulas = uncertain, formulas
        without = {*leave_out, *(("thoughts", "labels", "raw") if "hidden" in leave_out else ())}
        exported = (part not in without for part in PARTS)
        self.hidden, self.prompts, self.solutions, self.thoughts, self.labels, self.raw = exported
        self.all = not leave_out


@dataclass(frozen=True, kw_only=True)
class _AnyFormat:
    """A format of other tools."""

    # Describes it in the help of the command line.
    title: str
    # The file types that can hold it, the first of which is the default; none for a folder.
    suffixes: Sequence[str] = ()
    holds_hidden: bool = True
    # Fields that our conversations leave empty.
    empty: Sequence[str] = ()
    # Fields that a conversation needs to be exported.
    wants: str = "a reply of the tutor"


@dataclass(frozen=True, kw_only=True)
class FolderFormat(_AnyFormat):
    """A format with a layout of its own, which holds our rows as they are."""

    # Creates the folder with a part for each share, or one for all, and counts the rows of each part.
    export: Callable[[Dataset, Path, ExportOptions, Splits | None, bool], Counter[str]]
    # Yields the serialised conversations. Raises Failure.
    read: Callable[[Path], Iterator[bytes]]
    # Whether its rows rest on the evidence of rules, some of which only read.
    has_evidence: bool = False


@dataclass(frozen=True, kw_only=True)
class Format(_AnyFormat):
    """A format with a row for each conversation."""

    # The columns that a row needs, besides `id` and the problem's `id` and `question`.
    columns: Callable[[ExportOptions], Sequence[str]]
    # Returns None for a conversation without a row in this format. Raises CannotConvert.
    row: Callable[[Dialogue, ExportOptions], Row | None]
    # Reads a row back. Raises CannotConvert.
    dialogue: Callable[[Row], Dialogue]
    # Fields that an export rebuilds; an import keeps all other fields that an export would write differently.
    made: Collection[str] = ()
    # Fields that are lists of messages, of which an import keeps only those that an export would write differently.
    listed: Collection[str] = ()
    # Fields that hold nothing that can be left out, so that an import's come back whatever is.
    always: Collection[str] = ()
    once_a_problem: bool = False


def _ours() -> Iterator[tuple[str, str]]:
    """Yields our formats for every recipe and those of recipes; a module whose name begins with `_` is none."""
    packages = [importlib.import_module(f"{__package__}.formats"), *(part(name, "formats") for name in known_recipes())]
    for package in filter(None, packages):
        for module in iter_modules(package.__path__):
            if not module.name.startswith("_"):
                yield module.name, f"{package.__name__}.{module.name}:FORMAT"


FORMATS = Extensions("export format", "soliloquy.exports", _ours)
NAMES = tuple(FORMATS.claims)


@cache
def find(name: str) -> Format | FolderFormat:
    """Raises BadPackage."""
    form: Format | FolderFormat = FORMATS.load(name, Format, FolderFormat)
    return form


def row_format(name: str) -> Format:
    form = find(name)
    assert isinstance(form, Format), f"{name} has no rows"
    return form


def text_of(row: Mapping[str, Any], field: str) -> str:
    """Returns the field as text; empty if it is null or missing."""
    value = row.get(field)
    return value if isinstance(value, str) else "" if value is None else str(value)
