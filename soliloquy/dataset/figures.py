"""Defines the part `figures` of a recipe, which adds to the statistics, the card and the report of its datasets."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa

from soliloquy.recipes.packages import known_recipes, part

if TYPE_CHECKING:
    from soliloquy.dataset.statistics import Statistics


class OwnCounts(Protocol):
    def add(self, batch: pa.RecordBatch) -> None:
        """Counts the rows of a shard, accepted or rejected."""


class Plot(NamedTuple):
    """Bars in the report; each is a share of `whole`."""

    title: str
    gist: str
    bars: Mapping[str, int]
    whole: int


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of a recipe's paper, and what a recipe counts that others lack."""

    paper: str
    # Returns a measure, its value in a dataset and the paper's value in each row; none for a dataset without them.
    beside: Callable[["Statistics", "Statistics"], Sequence[tuple[str, str, str]]]
    # A paragraph below the table.
    note: str
    # Creates empty counts; `Statistics.own` holds them.
    counts: Callable[[], OwnCounts] | None = None
    # Measures rows for the manifest.
    measures: Callable[[pa.RecordBatch], Counter[str]] | None = None
    plots: Callable[["Statistics", "Statistics"], Iterable[Plot]] = lambda accepted, rejected: ()
    # A limit of datasets in which nobody speaks.
    limit: str = ""


@cache
def figures_of(recipe: str) -> Figures | None:
    module = part(recipe, "figures") if recipe in known_recipes() else None
    figures: Figures | None = None if module is None else module.FIGURES
    return figures


def all_figures(accepted: "Statistics", rejected: "Statistics") -> Iterator[Figures]:
    found: Mapping[str, Any] = accepted.recipes + rejected.recipes
    yield from filter(None, map(figures_of, sorted(found)))
