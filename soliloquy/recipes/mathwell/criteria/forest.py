"""Extremely randomised trees on features that are there or not: they see which features occur together."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soliloquy.recipes.mathwell.criteria.measured import Array, Flags

Nodes = npt.NDArray[np.int32]

_TREES = 150
# The share of the features that a node chooses from, and the fewest rows below it.
_CHOICE = 0.05
_LEAF = 5
# A feature of fewer rows, and of fewer than this share of them, tells a tree nothing.
_FEWEST, _RAREST = 8, 0.01
# Keeps the log odds of a pure leaf finite.
_DOUBT = 0.01


class Forest(NamedTuple):
    # The feature that a node asks for, and where its rows go without it and with it; a leaf leads to itself.
    asked: Nodes
    below: Nodes
    # The share of rows with a yes in a leaf, where both labels have the same total weight.
    share: Array
    roots: Nodes

    def scores(self, features: npt.NDArray[np.float32]) -> Array:
        """Returns the log odds of each row."""
        there = features != 0
        rows = np.arange(len(there))[:, None]
        at = np.broadcast_to(self.roots, (len(there), len(self.roots)))
        while True:
            following = self.below[at, there[rows, self.asked[at]].astype(np.int8)]
            if (following == at).all():
                break
            at = following
        likely = self.share[at].mean(axis=1)
        return np.asarray(np.log((likely + _DOUBT) / (1 + _DOUBT - likely)))


def fit_forest(features: npt.NDArray[np.float32], labels: Flags) -> Forest:
    there = features != 0
    counts = there.sum(axis=0)
    columns: Nodes = np.flatnonzero(counts >= max(_FEWEST, _RAREST * len(labels))).astype(np.int32)
    weights = np.where(labels, 0.5 / max(labels.mean(), 1e-9), 0.5 / max((~labels).mean(), 1e-9)).astype(np.float32)
    growing = _Growing(np.ascontiguousarray(there[:, columns].T), columns, weights, labels)
    roots = [growing.grow() for _ in range(_TREES)]
    return Forest(
        asked=np.array(growing.asked, dtype=np.int32),
        below=np.array(growing.below, dtype=np.int32),
        share=np.array(growing.share),
        roots=np.array(roots, dtype=np.int32),
    )


class _Growing:
    """Grows trees one after another into the same lists of nodes."""

    def __init__(self, there: Flags, columns: Nodes, weights: npt.NDArray[np.float32], labels: Flags) -> None:
        self._there, self._columns = there, columns
        # The weight of each row, and that of the rows with a yes.
        self._weights = np.stack([weights, weights * labels], axis=1)
        self._choice = max(1, round(_CHOICE * len(columns)))
        # The same rows always teach the same.
        self._random = np.random.default_rng(0)
        self.asked: list[int] = []
        self.below: list[tuple[int, int]] = []
        self.share: list[float] = []

    def grow(self) -> int:
        root = self._leaf(np.arange(len(self._weights)))
        open_nodes = [(root, np.arange(len(self._weights)))]
        while open_nodes:
            node, rows = open_nodes.pop()
            if (found := self._split(rows)) is None:
                continue
            self.asked[node], with_it = int(self._columns[found]), self._there[found, rows]
            parts = [rows[~with_it], rows[with_it]]
            left, right = (self._leaf(part) for part in parts)
            self.below[node] = (left, right)
            open_nodes += zip((left, right), parts, strict=True)
        return root

    def _leaf(self, rows: npt.NDArray[np.int_]) -> int:
        whole, yes = self._weights[rows].sum(axis=0)
        number = len(self.share)
        self.asked.append(0)
        self.below.append((number, number))
        self.share.append(float(yes / whole))
        return number

    def _split(self, rows: npt.NDArray[np.int_]) -> int | None:
        """Returns the feature of a random choice that parts the labels best; None for a leaf."""
        if len(rows) < 2 * _LEAF or not len(self._columns):
            return None
        weights = self._weights[rows]
        whole, yes = weights.sum(axis=0)
        if yes in (0, whole):
            return None
        chosen = self._random.choice(len(self._columns), self._choice, replace=False)
        with_it = self._there[chosen[:, None], rows]
        counts = with_it.sum(axis=1)
        inside = with_it.astype(np.float32) @ weights
        outside = (whole, yes) - inside
        impure = _impurity(inside) + _impurity(outside)
        impure[(counts < _LEAF) | (len(rows) - counts < _LEAF)] = np.inf
        best = int(impure.argmin())
        return int(chosen[best]) if np.isfinite(impure[best]) else None


def _impurity(part: Array) -> Array:
    """Returns Gini's impurity times the weight, from the weight of the rows and that of the rows with a yes."""
    return np.asarray(part[:, 1] * (1 - part[:, 1] / np.maximum(part[:, 0], 1e-9)))
