"""Finds what a recipe counts in its datasets that others lack."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import pyarrow as pa

from soliloquy.recipes.packages import known_recipes, part


class OwnCounts(Protocol):
    def add(self, batch: pa.RecordBatch) -> None:
        """Counts the rows of a shard, accepted or rejected."""


@dataclass(frozen=True, kw_only=True)
class RecipeCounts:
    """The figures of a recipe, as far as counting needs them."""

    # Creates empty counts; `Statistics.own` holds them.
    counts: Callable[[], OwnCounts] | None = None
    # Measures rows for the manifest.
    measures: Callable[[pa.RecordBatch], Counter[str]] | None = None


@cache
def recipe_counts(recipe: str) -> RecipeCounts | None:
    module = part(recipe, "figures") if recipe in known_recipes() else None
    figures: RecipeCounts | None = None if module is None else module.FIGURES
    return figures
