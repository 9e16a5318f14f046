"""The tables that a recipe computes from its paper's published data, and how they are shown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

import rich.table

from soliloquy_training.evaluation.cases import Share, share_of


def portion(outcomes: Iterable[object]) -> Share:
    """Counts the outcomes that are true."""
    return share_of(map(bool, outcomes))


def mean(values: Iterable[float | None]) -> float | None:
    """Returns the mean of those that there are; None without any."""
    found = [value for value in values if value is not None]
    return fmean(found) if found else None


# None where a definition has no value.
Cell = Share | float | int | str | None


class Found(NamedTuple):
    """A figure by the authors' definition, by ours from the same rows, and as the paper states it."""

    authors: Cell = None
    ours: Cell = None
    paper: Cell = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    title: str
    # Each measure with its figures.
    rows: Sequence[tuple[str, Found]]
    # Why the three figures of a measure differ, in a sentence each.
    why: Mapping[str, str]

    def shown(self) -> Iterator[rich.table.Table | str]:
        rows = ([measure, *_cells(found)] for measure, found in self.rows)
        yield _table([self.title, "authors' way", "our way", "paper"], rows)
        yield from (f"  {measure}: {why}" for measure, why in self.why.items())

    def as_json(self) -> dict[str, Any]:
        rows = [{"measure": measure, **found._asdict()} for measure, found in self.rows]
        return {"title": self.title, "rows": rows, "why": dict(self.why)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Counts by two things, such as evaluations by actions."""

    title: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[int]]]

    def shown(self) -> Iterator[rich.table.Table | str]:
        cells = ([name, *(str(count or "") for count in counts)] for name, counts in self.rows)
        yield _table([self.title, *self.heads], cells)

    def as_json(self) -> dict[str, Any]:
        rows = {name: dict(zip(self.heads, counts, strict=True)) for name, counts in self.rows}
        return {"title": self.title, "counts": rows}


def beside_paper(
    paper: Mapping[str, Any], found: Mapping[str, Mapping[str, Found | Mapping[str, Found]]]
) -> Iterator[Table]:
    """Yields the tables that something was found for, as the paper's file names and explains their measures.

    A measure may have a figure of each writer or model. What the paper states is in the file or comes with the figure.
    """
    for name, written in paper.items():
        if measures := found.get(name):
            rows = [row for each, figures in measures.items() for row in _rows(written[each], figures)]
            why = {written[each]["measure"]: written[each]["why"] for each in measures if "why" in written[each]}
            yield Table(title=written["title"], rows=rows, why=why)


def _rows(written: Mapping[str, Any], found: Found | Mapping[str, Found]) -> Iterator[tuple[str, Found]]:
    measure, paper = written["measure"], written.get("paper")
    if isinstance(found, Found):
        yield measure, found._replace(paper=paper) if paper is not None else found
    else:
        yield from ((f"{measure}, {of}", figures) for of, figures in found.items())


def _cells(found: Found) -> list[str]:
    authors, ours, paper = found
    is_share = isinstance(paper, float) and isinstance(authors or ours, dict)
    return [_text(authors), _text(ours), f"{paper:.1f} %" if is_share else _text(paper)]


def _text(cell: Cell) -> str:
    if isinstance(cell, dict):
        return f"{100 * cell['share']:.1f} % ({100 * cell['low']:.0f}-{100 * cell['high']:.0f})" if cell["of"] else ""
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell or "")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> rich.table.Table:
    made = rich.table.Table(*heads, box=None, header_style="bold", pad_edge=False)
    for column in made.columns[1:]:
        column.justify = "right"
    for row in rows:
        made.add_row(*row)
    return made
