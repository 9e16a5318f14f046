"""Learns from labelled rows with scikit-learn: weights of many features, trees, and a line through a few columns."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from soliloquy_papers.mathwell.criteria.features import Array, Flags, Vector
from soliloquy_papers.mathwell.criteria.forest import Forest
from soliloquy_papers.mathwell.criteria.scale import SCORES, chances_on

FOLDS = 5
Folds = npt.NDArray[np.int_]
# Learns from rows and labels; returns what gives each row a score.
Learner = Callable[[Array, Flags], Callable[[Array], Array]]
# Strong regularisation, as in the paper: few rows, many features.
_PRIOR = 5.0
_TREES = 100
# The share of the features that a node chooses from, and the fewest rows below it.
_CHOICE = 0.05
_LEAF = 5
# A feature of fewer rows, and of fewer than this share of them, tells a tree nothing.
_FEWEST, _RAREST = 8, 0.01


def fit_weights(features: Vector, labels: Flags) -> Vector:
    """Both labels have the same total weight."""
    learner = LogisticRegression(C=1 / _PRIOR, fit_intercept=False, class_weight="balanced", max_iter=1000)
    # Few rows have few features, so most columns are empty.
    filled = features.any(axis=0)
    found = np.zeros(features.shape[1], dtype=np.float32)
    found[filled] = learner.fit(features[:, filled], labels).coef_[0]
    return found


def by_weights(features: Array, labels: Flags) -> Callable[[Array], Array]:
    weights = fit_weights(features.astype(np.float32), labels)
    return lambda others: others @ weights


def fit_forest(features: Array, labels: Flags) -> Forest:
    """Grows extremely randomised trees on features that are there or not; both labels have the same total weight."""
    there = features != 0
    counts = there.sum(axis=0)
    columns = np.flatnonzero(counts >= min(max(_FEWEST, _RAREST * len(labels)), counts.max()))
    # The same rows always teach the same.
    learner = ExtraTreesClassifier(
        _TREES, max_features=_CHOICE, min_samples_leaf=_LEAF, class_weight="balanced", random_state=0
    )
    trees = [one.tree_ for one in learner.fit(there[:, columns].astype(np.float32), labels).estimators_]
    sizes = [tree.node_count for tree in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    children = np.vstack([np.column_stack([tree.children_left, tree.children_right]) for tree in trees])
    is_leaf = children < 0
    return Forest(
        asked=np.where(is_leaf[:, 0], 0, columns[np.concatenate([tree.feature for tree in trees])]).astype(np.int32),
        below=np.where(is_leaf, np.arange(len(children))[:, None], children + np.repeat(roots, sizes)[:, None]).astype(
            np.int32
        ),
        share=np.concatenate([tree.value[:, 0, 1] for tree in trees]),
        roots=roots.astype(np.int32),
    )


def by_trees(features: Array, labels: Flags) -> Callable[[Array], Array]:
    return fit_forest(features, labels).scores


def fit_line(columns: Array, labels: Flags) -> Array:
    """Returns a weight for each column, of which SCORES are scores, and the offset."""
    learned = LogisticRegression(max_iter=1000).fit(columns, labels)
    line = np.array([*learned.coef_[0], *learned.intercept_])
    # A negative slope contradicts the labels: treat the score as uninformative.
    line[:SCORES] = np.maximum(line[:SCORES], 0.0)
    return line


def by_line(columns: Array, labels: Flags) -> Callable[[Array], Array]:
    line = fit_line(columns, labels)
    return lambda others: chances_on(others, line)


def by_others(columns: Array, met: Flags, labelled: Flags, folds: Folds, learn: Learner) -> Array:
    """Returns the score of each row by what the other folds teach."""
    scores = np.zeros(len(met))
    for fold in range(FOLDS):
        inside, others = folds == fold, labelled & (folds != fold)
        # Nothing is learned from rows that all have the same label.
        if 0 < met[others].sum() < others.sum():
            scores[inside] = learn(columns[others], met[others])(columns[inside])
    return scores
