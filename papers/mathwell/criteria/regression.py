"""Fits logistic regressions: of many features with weights, and of a few scores and pieces of evidence with a line."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from soliloquy_papers.mathwell.criteria.features import Vector
from soliloquy_papers.mathwell.criteria.measured import Array, Flags

FOLDS = 5
Folds = npt.NDArray[np.int_]
# Returns the score of each row.
Scoring = Callable[[Vector], Array]
# Strong regularisation, as in the paper: few rows, many features. A prior counts for more the fewer rows there are.
_PRIOR = 5.0
_RATE = 8.0
_ROUNDS = 120
# The first columns of a line: the score by weights, and that of the trees.
SCORES = 2
# The prior of a line: a score or a piece of evidence has to show in a number of rows.
_PENALTY = 1.0


def sigmoid(scores: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(scores, -30, 30)))


def fit_weights(features: Vector, labels: Flags) -> Vector:
    """Fits the weights by accelerated gradient descent; both labels have the same total weight."""
    share = np.where(labels, 0.5 / max(labels.mean(), 1e-9), 0.5 / max((~labels).mean(), 1e-9)) / len(labels)
    # Few rows have few features, so most columns are empty.
    filled = features.any(axis=0)
    rows = np.ascontiguousarray(features[:, filled])
    columns = np.ascontiguousarray(rows.T)
    decay = _PRIOR / len(labels)
    weights = speed = np.zeros(len(columns), dtype=np.float32)
    for _ in range(_ROUNDS):
        ahead = weights + 0.9 * speed
        off = (share * (sigmoid(rows @ ahead) - labels)).astype(np.float32)
        speed = 0.9 * speed - _RATE * (columns @ off + decay * ahead)
        weights = weights + speed
    found = np.zeros(features.shape[1], dtype=np.float32)
    found[filled] = weights
    return found


def linear(features: Vector, labels: Flags) -> Scoring:
    weights = fit_weights(features, labels)
    return lambda others: others @ weights


def scores_by_others(
    features: Vector, met: Flags, labelled: Flags, folds: Folds, learn: Callable[[Vector, Flags], Scoring] = linear
) -> Array:
    """Returns the score of each row by what the other folds teach."""
    scores = np.zeros(len(met))
    for fold in range(FOLDS):
        inside, others = folds == fold, labelled & (folds != fold)
        scores[inside] = learn(features[others], met[others])(features[inside])
    return scores


def fit_line(columns: Array, labels: Flags) -> Array:
    """Returns a weight for each column, of which SCORES are scores, and the offset: log odds, by Newton's method."""
    columns = np.column_stack([columns, np.ones(len(columns))])
    penalty = np.full(columns.shape[1], _PENALTY)
    penalty[-1] = 1e-3
    line = np.zeros(columns.shape[1])
    for _ in range(50):
        chance = sigmoid(columns @ line)
        slopes = columns.T @ (chance - labels) + penalty * line
        curve = (columns * (chance * (1 - chance))[:, None]).T @ columns + np.diag(penalty)
        line = line - np.linalg.solve(curve, slopes)
    # A negative slope contradicts the labels: treat the score as uninformative.
    line[:SCORES] = np.maximum(line[:SCORES], 0.0)
    return line


def chances_on(columns: Array, line: Array) -> Array:
    return sigmoid(columns @ line[:-1] + line[-1])


def chances_by_others(columns: Array, met: Flags, labelled: Flags, folds: Folds) -> Array:
    """Returns the probability of each row by the line of the other folds."""
    chances = np.zeros(len(met))
    for fold in range(FOLDS):
        inside, others = folds == fold, labelled & (folds != fold)
        chances[inside] = chances_on(columns[inside], fit_line(columns[others], met[others]))
    return chances
