"""Extremely randomised trees on features that are there or not: they see which features occur together."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soliloquy_papers.mathwell.criteria.measured import Array, Flags

Nodes = npt.NDArray[np.int32]

_TREES = 100
# The share of the features that a node chooses from, and the fewest rows below it.
_CHOICE = 0.05
_LEAF = 5
# All labels of a node are the same but for errors of rounding.
_PURE = 1e-4
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
        # The weight of each row, that of the rows with a yes, and their count.
        self._weights = np.stack([weights, weights * labels, np.ones_like(weights)], axis=1)
        self._choice = max(1, round(_CHOICE * len(columns)))
        # The same rows always teach the same.
        self._random = np.random.default_rng(0)
        self.asked: list[int] = []
        self.below: list[tuple[int, int]] = []
        self.share: list[float] = []

    def grow(self) -> int:
        rows = np.arange(len(self._weights))
        whole = self._weights.sum(axis=0)
        root = self._leaf(whole)
        open_nodes = [(root, rows, whole)]
        while open_nodes:
            node, rows, whole = open_nodes.pop()
            if (found := self._split(rows, whole)) is None:
                continue
            column, inside = found
            with_it, outside = self._there[column, rows], whole - inside
            left, right = self._leaf(outside), self._leaf(inside)
            self.asked[node], self.below[node] = int(self._columns[column]), (left, right)
            open_nodes += ((left, rows[~with_it], outside), (right, rows[with_it], inside))
        return root

    def _leaf(self, whole: npt.NDArray[np.float32]) -> int:
        number = len(self.share)
        self.asked.append(0)
        self.below.append((number, number))
        self.share.append(float(whole[1] / whole[0]))
        return number

    def _split(
        self, rows: npt.NDArray[np.int_], whole: npt.NDArray[np.float32]
    ) -> tuple[int, npt.NDArray[np.float32]] | None:
        """Returns the one of some random features that parts the labels best, and the sums with it; None for a leaf."""
        weight, yes, count = whole.tolist()
        # Sums of weights are not exact.
        if count < 2 * _LEAF or not _PURE < yes / weight < 1 - _PURE or not len(self._columns):
            return None
        chosen = self._random.integers(len(self._columns), size=self._choice)
        inside = self._there[chosen[:, None], rows].astype(np.float32) @ self._weights[rows]
        outside = whole - inside
        # The less Gini's impurity, the more the squares come to.
        fits = (inside[:, 2] >= _LEAF) & (outside[:, 2] >= _LEAF)
        if not fits.any():
            return None
        places = np.flatnonzero(fits)
        parted = sum(part[places, 1] * (part[places, 1] / part[places, 0] - 1) for part in (inside, outside))
        best = places[np.asarray(parted).argmax()]
        return int(chosen[best]), inside[best]
