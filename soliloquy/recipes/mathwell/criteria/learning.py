"""Learns the classifiers from labelled problems and evaluates them on held-out ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from soliloquy.recipes.mathwell.criteria.classifiers import Classifier, Classifiers
from soliloquy.recipes.mathwell.criteria.features import SIZE, Vector, vector
from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, WordProblem
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.seeds import seed

TEST_SHARE = 0.2
FOLDS = 5
# Strong regularisation, as in the paper: few rows, many features.
DECAY = 2e-3
RATE = 8.0
ROUNDS = 120
# The least number of rows per label.
LEAST = 10

Array = npt.NDArray[np.floating[Any]]


# Metrics on held-out problems, by name.
Quality = Mapping[str, float]
Labelled = tuple[WordProblem, Mapping[Criterion, bool]]


def learn_classifiers(rows: Sequence[Labelled], run_seed: int) -> tuple[Classifiers, dict[Criterion, Quality]]:
    """Learns one classifier per criterion; an unsolvable problem has no labels for the other criteria."""
    found: dict[Criterion, Classifier] = {}
    tested: dict[Criterion, Quality] = {}
    for criterion in Criterion:
        labelled = [(problem, labels[criterion]) for problem, labels in rows if criterion in labels]
        labels = np.array([label for _, label in labelled], dtype=bool)
        if min(int(labels.sum()), int((~labels).sum())) < LEAST:
            told = f"there are {labels.sum()} yes, {(~labels).sum()} no"
            raise Failure(f"{criterion}: at least {LEAST} rows of each label are required; {told}")
        features = np.stack([vector(problem) for problem, _ in labelled])
        places = [seed("criteria", run_seed, problem.question) / 2**64 for problem, _ in labelled]
        test = np.array(places) < TEST_SHARE
        folds = np.array([int(place * 1e6) % FOLDS for place in places])
        found[criterion] = _classifier(features[~test], labels[~test], folds[~test])
        tested[criterion] = _tested(found[criterion], features[test], labels[test])
    return Classifiers(by_criterion=found), tested


def _classifier(features: Vector, labels: npt.NDArray[np.bool_], folds: npt.NDArray[np.int_]) -> Classifier:
    """Calibrates on cross-validated scores."""
    scores = np.zeros(len(labels))
    for fold in range(FOLDS):
        inside = folds == fold
        scores[inside] = features[inside] @ _weights(features[~inside], labels[~inside])
    slope, offset = _calibration(scores, labels)
    return Classifier(weights=_weights(features, labels), slope=slope, offset=offset, share=float(labels.mean()))


def _weights(features: Vector, labels: npt.NDArray[np.bool_]) -> Vector:
    """Fits the weights by accelerated gradient descent; both labels have the same total weight."""
    share = np.where(labels, 0.5 / max(labels.mean(), 1e-9), 0.5 / max((~labels).mean(), 1e-9)) / len(labels)
    # Few rows have few features, so most columns are empty.
    filled = features.any(axis=0)
    rows = np.ascontiguousarray(features[:, filled])
    columns = np.ascontiguousarray(rows.T)
    weights = speed = np.zeros(len(columns), dtype=np.float32)
    for _ in range(ROUNDS):
        ahead = weights + 0.9 * speed
        off = (share * (_sigmoid(rows @ ahead) - labels)).astype(np.float32)
        speed = 0.9 * speed - RATE * (columns @ off + DECAY * ahead)
        weights = weights + speed
    found = np.zeros(SIZE, dtype=np.float32)
    found[filled] = weights
    return found


def _calibration(scores: Array, labels: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Platt scaling: fits the line from scores to log odds by Newton's method."""
    columns = np.stack([scores, np.ones(len(scores))], axis=1)
    line = np.zeros(2)
    for _ in range(50):
        chance = _sigmoid(columns @ line)
        slopes = columns.T @ (chance - labels) + 1e-3 * line
        curve = (columns * (chance * (1 - chance))[:, None]).T @ columns + 1e-3 * np.eye(2)
        line = line - np.linalg.solve(curve, slopes)
    # A negative slope contradicts the labels: treat the score as uninformative.
    return max(float(line[0]), 0.0), float(line[1])


def _sigmoid(scores: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(scores, -30, 30)))


def _tested(classifier: Classifier, features: Vector, labels: npt.NDArray[np.bool_]) -> Quality:
    chances = np.array([classifier.probability(one) for one in features])
    said = chances >= classifier.share
    right = int((said & labels).sum())
    yes, no = max(int(labels.sum()), 1), max(int((~labels).sum()), 1)
    precision, recall = right / max(int(said.sum()), 1), right / yes
    return {
        "rows": len(labels),
        "share": float(labels.mean()),
        "accuracy": float((said == labels).mean()),
        "balanced_accuracy": (recall + int((~said & ~labels).sum()) / no) / 2,
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / max(precision + recall, 1e-9),
        "roc_auc": _roc_auc(chances, labels),
        # The mean squared difference between probability and label.
        "brier": float(((chances - labels) ** 2).mean()),
    }


def _roc_auc(chances: Array, labels: npt.NDArray[np.bool_]) -> float:
    """The probability that a positive problem ranks above a negative one."""
    yes, no = chances[labels][:, None], chances[~labels][None, :]
    return float(((yes > no) + 0.5 * (yes == no)).mean()) if yes.size and no.size else float("nan")
