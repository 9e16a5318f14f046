"""Tables and lines in a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import JustifyMethod, RenderableType
from rich.table import Column, Table
from rich.text import Text

from soliloquy.cli.terminal import visible
from soliloquy.dataset.tables import estimate
from soliloquy.v1.conversation_pb2 import Ending, Summary

if TYPE_CHECKING:
    from soliloquy.annotation.measured import Measured

_QUESTION_CHARACTERS = 60

# The support of a verdict on an answer.
SUPPORTS = {"program": "by a program", "step": "by a step worked through before", "none": "unverified"}


def table(*heads: str, rows: Iterable[Iterable[RenderableType]] = (), align: JustifyMethod = "right") -> Table:
    """Returns a table whose first column names the rows and whose others hold numbers, unless they are aligned left."""
    made = Table(*heads)
    for column in made.columns[1:]:
        column.justify = align
    for row in rows:
        made.add_row(*row)
    return made


def plain_table(*heads: str, rows: Iterable[Iterable[RenderableType]]) -> Table:
    """Returns a table without lines, whose first column is not wrapped, so that its names can be copied."""
    made = Table(Column(heads[0], no_wrap=True), *heads[1:], box=None, header_style="bold", pad_edge=False)
    for row in rows:
        made.add_row(*row)
    return made


def measured_table(subjects: str, measured: Sequence["Measured"]) -> Table:
    """Returns a table of how judges agree with people, with a section for each subject."""
    # A judge without probabilities says only yes or no.
    has_chances = any(one.chances is not None for one in measured)
    heads = ("balanced", "AUC") if has_chances else ()
    made = table(subjects, "judge", "items", "yes", *heads, "precision", "recall", "kappa")
    for _, group in groupby(measured, key=lambda one: one.subject):
        for one in group:
            auc = "" if one.roc_auc is None else f"{one.roc_auc:.2f}"
            balanced = (f"{100 * one.balanced_accuracy:.1f} ± {100 * one.interval:.1f}", auc) if has_chances else ()
            estimates = (estimate(asdict(of)) for of in (one.precision, one.recall, one.kappa))
            made.add_row(one.subject, one.judge, f"{len(one.met):,}", f"{one.met.sum():,}", *balanced, *estimates)
        made.add_section()
    return made


def facts(rows: Mapping[str, object]) -> Table:
    """Returns a table with a line for each name and its value or its counts."""
    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(style="dim")
    made.add_column()
    for name, value in rows.items():
        shown = ", ".join(f"{count} {key}" for key, count in value.items()) if isinstance(value, Mapping) else value
        made.add_row(name.replace("_", " "), Text(visible(str(shown)) or "none"))
    return made


def ending(value: Ending) -> str:
    # Imported conversations have none.
    word = "no ending" if value == Ending.ENDING_UNSPECIFIED else Ending.Name(value)
    return word.removeprefix("ENDING_").lower().replace("_", " ")


def short(text: str, most: int = _QUESTION_CHARACTERS) -> str:
    """Returns one line without control characters."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return plain if len(plain) <= most else f"{plain[:most]}…"


def conversation_line(id: str, ended: Ending, summary: Summary) -> str:
    flags = f"  {summary.flags} flags" if summary.flags else ""
    counts = f"{ending(ended):<10} {summary.turns:>2} turns {summary.python_turns:>2} with Python{flags}"
    return f"{id}  {counts}  {summary.topic:<12}  {short(summary.question)}".rstrip()
