"""Defines the part `figures` of a recipe, which adds to the statistics, the card and the report of its datasets."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from soliloquy.dataset.recipe_counts import RecipeCounts, recipe_counts
from soliloquy.dataset.statistics import Statistics


class Plot(NamedTuple):
    """Bars in the report; each is a share of `whole`."""

    title: str
    gist: str
    bars: Mapping[str, int]
    whole: int


@dataclass(frozen=True, kw_only=True)
class Figures(RecipeCounts):
    """The figures of a recipe's paper, and what a recipe counts that others lack."""

    paper: str
    # Returns a measure, its value in a dataset and the paper's value in each row; none for a dataset without them.
    beside: Callable[[Statistics, Statistics], Sequence[tuple[str, str, str]]]
    # A paragraph below the table.
    note: str
    plots: Callable[[Statistics, Statistics], Iterable[Plot]] = lambda accepted, rejected: ()
    # A limit of datasets in which nobody speaks.
    limit: str = ""


def all_figures(accepted: Statistics, rejected: Statistics) -> Iterator[Figures]:
    for recipe in sorted(accepted.recipes + rejected.recipes):
        figures = recipe_counts(recipe)
        if isinstance(figures, Figures):
            yield figures
