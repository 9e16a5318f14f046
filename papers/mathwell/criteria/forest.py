"""Extremely randomised trees on features that are there or not: they see which features occur together."""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from soliloquy_papers.mathwell.criteria.features import Array, Flags

_TREES = 100
# The share of the features that a node chooses from, and the fewest rows below it.
_CHOICE = 0.05
_LEAF = 5
# A feature of fewer rows, and of fewer than this share of them, tells a tree nothing.
_FEWEST, _RAREST = 8, 0.01
# Keeps the log odds of a pure leaf finite.
_DOUBT = 0.01


class Forest(NamedTuple):
    """The trees as plain arrays, with which judging needs no scikit-learn."""

    # The feature that a node asks for, and where its rows go without it and with it; a leaf leads to itself.
    asked: npt.NDArray[np.int32]
    below: npt.NDArray[np.int32]
    # The share of rows with a yes in a leaf, where both labels have the same total weight.
    share: Array
    roots: npt.NDArray[np.int32]

    @classmethod
    def grown(cls, features: Flags, labels: Flags) -> Self:
        """Learns from labelled rows; the same rows always teach the same."""
        from sklearn.ensemble import ExtraTreesClassifier

        counts = features.sum(axis=0)
        columns = np.flatnonzero(counts >= min(max(_FEWEST, _RAREST * len(labels)), counts.max()))
        learner = ExtraTreesClassifier(
            _TREES, max_features=_CHOICE, min_samples_leaf=_LEAF, class_weight="balanced", random_state=0
        )
        trees = [one.tree_ for one in learner.fit(features[:, columns].astype(np.float32), labels).estimators_]
        sizes = [tree.node_count for tree in trees]
        roots = np.cumsum([0, *sizes[:-1]])
        children = np.vstack([np.column_stack([tree.children_left, tree.children_right]) for tree in trees])
        is_leaf = children < 0
        asked = np.where(is_leaf[:, 0], 0, columns[np.concatenate([tree.feature for tree in trees])])
        below = np.where(is_leaf, np.arange(len(children))[:, None], children + np.repeat(roots, sizes)[:, None])
        return cls(
            asked=asked.astype(np.int32),
            below=below.astype(np.int32),
            share=np.concatenate([tree.value[:, 0, 1] for tree in trees]),
            roots=roots.astype(np.int32),
        )

    def scores(self, features: Flags) -> Array:
        """Returns the log odds of each row."""
        rows = np.arange(len(features))[:, None]
        at = np.broadcast_to(self.roots, (len(features), len(self.roots)))
        while True:
            following = self.below[at, features[rows, self.asked[at]].astype(np.int8)]
            if (following == at).all():
                break
            at = following
        likely = self.share[at].mean(axis=1)
        return np.asarray(np.log((likely + _DOUBT) / (1 + _DOUBT - likely)))
