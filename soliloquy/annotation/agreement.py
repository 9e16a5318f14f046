"""How far annotators agree: shares, kappas and alphas, each with a bootstrap interval over the items.

A table has a row for each item and a column for each annotator; NaN stands where one has not seen the other. Labels are
numbered in their order, so that an ordinal distance can be told.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from soliloquy.runtime.seeds import seed

Table = NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval"]

_DRAWS = 1_000
_INTERVAL = (2.5, 97.5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A coefficient with its 95 % interval, or why it has no value."""

    value: float | None
    low: float | None = None
    high: float | None = None
    # The items that at least two annotators have judged.
    items: int = 0
    why: str = ""


def estimate(table: Table, coefficient: Callable[[Table], float]) -> Estimate:
    """Draws items with replacement, the same ones each time."""
    shared = table[(~np.isnan(table)).sum(axis=1) >= 2]
    value = coefficient(shared) if len(shared) else np.nan
    if np.isnan(value):
        return Estimate(value=None, items=len(shared), why=_why_unknown(table, shared))
    draws = np.random.default_rng(seed("agreement", *shared.shape)).integers(len(shared), size=(_DRAWS, len(shared)))
    found = np.array([coefficient(shared[rows]) for rows in draws])
    found = found[~np.isnan(found)]
    low, high = np.percentile(found, _INTERVAL) if len(found) else (np.nan, np.nan)
    return Estimate(value=float(value), low=float(low), high=float(high), items=len(shared))


def _why_unknown(table: Table, shared: Table) -> str:
    if len(shared):
        return "one label for all"
    return "one annotator" if table.shape[1] == 1 else "no item in common"


def observed(table: Table) -> float:
    """Returns the share of pairs of annotations of one item that are the same, each item counting as much."""
    shares = [_share_of_pairs(row[~np.isnan(row)]) for row in table]
    known = [share for share in shares if share is not None]
    return float(np.mean(known)) if known else np.nan


def _share_of_pairs(values: Table) -> float | None:
    pairs = [one == other for one, other in combinations(values, 2)]
    return sum(pairs) / len(pairs) if pairs else None


def cohens_kappa(table: Table, weights: Literal["none", "linear", "quadratic"] = "none") -> float:
    """Returns the kappa of two annotators over the items that both have judged."""
    one, other = table[~np.isnan(table).any(axis=1)].T
    labels = np.unique([one, other])
    counts = np.array([[np.sum((one == first) & (other == second)) for second in labels] for first in labels])
    if not counts.sum():
        return np.nan
    places = np.arange(len(labels))
    apart = np.abs(places[:, None] - places[None, :])
    cost = {"none": apart > 0, "linear": apart, "quadratic": apart**2}[weights].astype(float)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    by_chance = float((cost * expected).sum())
    return 1 - float((cost * counts).sum()) / by_chance if by_chance else np.nan


def fleiss_kappa(table: Table) -> float:
    """Returns the kappa of any annotators, over the items that most of them have judged equally often."""
    judged = (~np.isnan(table)).sum(axis=1)
    times = int(np.bincount(judged).argmax()) if len(judged) else 0
    rows = table[judged == times]
    if times < 2:
        return np.nan
    labels = np.unique(rows[~np.isnan(rows)])
    counts = np.stack([(rows == label).sum(axis=1) for label in labels], axis=1)
    shares = counts.sum(axis=0) / counts.sum()
    agreed = ((counts**2).sum(axis=1) - times) / (times * (times - 1))
    by_chance = float((shares**2).sum())
    return (float(agreed.mean()) - by_chance) / (1 - by_chance) if by_chance < 1 else np.nan


def krippendorffs_alpha(table: Table, level: Level = "nominal") -> float:
    """Returns alpha, which may lack any judgements."""
    rows = table[(~np.isnan(table)).sum(axis=1) >= 2]
    labels = np.unique(rows[~np.isnan(rows)])
    if len(labels) < 2:
        return np.nan
    counts = np.stack([(rows == label).sum(axis=1) for label in labels], axis=1).astype(float)
    judged = counts.sum(axis=1)
    pairs = (counts.T / (judged - 1)) @ counts
    pairs -= np.diag((counts / (judged - 1)[:, None]).sum(axis=0))
    total = counts.sum(axis=0)
    distance = _distances(labels, total, level)
    expected = np.outer(total, total) - np.diag(total)
    by_chance = float((distance * expected).sum()) / (total.sum() - 1)
    return float(1 - (distance * pairs).sum() / by_chance)


def _distances(labels: Table, total: Table, level: Level) -> Table:
    if level == "nominal":
        return np.not_equal(labels[:, None], labels[None, :]).astype(float)
    # An ordinal distance is all that lies between two labels, with half of both.
    places: Table = labels if level == "interval" else np.cumsum(total) - total / 2
    apart: Table = (places[:, None] - places[None, :]) ** 2
    return apart
