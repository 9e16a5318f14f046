"""Extremely randomised trees on features that are there or not: they see which features occur together."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soliloquy_papers.mathwell.criteria.features import Array

Nodes = npt.NDArray[np.int32]

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
