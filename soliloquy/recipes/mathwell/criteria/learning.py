"""Learns the classifiers from labelled problems, and finds out on others how good they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soliloquy.recipes.mathwell.criteria.classifiers import Classifier, Classifiers
from soliloquy.recipes.mathwell.criteria.features import SIZE, Vector, vector
from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, WordProblem
from soliloquy.runtime.seeds import seed

TEST_SHARE = 0.2
FOLDS = 5
# Strong, as in the paper: few rows, many features.
DECAY = 2e-3
RATE = 8.0
ROUNDS = 120
# Of each label, or there is nothing to tell them apart by.
LEAST = 10

Array = npt.NDArray[np.floating[Any]]


class TooFewLabels(ValueError):
    """Not enough labelled problems of one kind."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quality:
    """On problems that were not learned from."""

    rows: int
    share: float
    accuracy: float
    balanced_accuracy: float
    precision: float
    recall: float
    f1: float
    roc_auc: float
    # The mean square of how far the probability was from the label.
    brier: float


Labelled = tuple[WordProblem, Mapping[Criterion, bool]]


def learn_classifiers(rows: Sequence[Labelled], run_seed: int) -> tuple[Classifiers, dict[Criterion, Quality]]:
    """A row may lack labels; a problem that cannot be solved says nothing of the other criteria."""
    found: dict[Criterion, Classifier] = {}
    tested: dict[Criterion, Quality] = {}
    for criterion in Criterion:
        labelled = [(problem, labels[criterion]) for problem, labels in rows if criterion in labels]
        labels = np.array([label for _, label in labelled], dtype=bool)
        if min(int(labels.sum()), int((~labels).sum())) < LEAST:
            told = f"there are {labels.sum()} yes, {(~labels).sum()} no"
            raise TooFewLabels(f"{criterion}: {LEAST} rows of each label are wanted; {told}")
        features = np.stack([vector(problem) for problem, _ in labelled])
        places = [seed("criteria", run_seed, problem.question) / 2**64 for problem, _ in labelled]
        test = np.array(places) < TEST_SHARE
        folds = np.array([int(place * 1e6) % FOLDS for place in places])
        found[criterion] = _classifier(features[~test], labels[~test], folds[~test])
        tested[criterion] = _tested(found[criterion], features[test], labels[test])
    return Classifiers(by_criterion=found), tested


def _classifier(features: Vector, labels: npt.NDArray[np.bool_], folds: npt.NDArray[np.int_]) -> Classifier:
    """Calibrated on scores that each problem got while it was left out."""
    scores = np.zeros(len(labels))
    for fold in range(FOLDS):
        inside = folds == fold
        scores[inside] = features[inside] @ _weights(features[~inside], labels[~inside])
    slope, offset = _calibration(scores, labels)
    return Classifier(weights=_weights(features, labels), slope=slope, offset=offset, share=float(labels.mean()))


def _weights(features: Vector, labels: npt.NDArray[np.bool_]) -> Vector:
    """Each label counts as much as the other, however few there are of it."""
    share = np.where(labels, 0.5 / max(labels.mean(), 1e-9), 0.5 / max((~labels).mean(), 1e-9)) / len(labels)
    # Most places hold nothing: few rows have few features.
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
    """Platt's: the line from scores to log odds, by Newton's method."""
    columns = np.stack([scores, np.ones(len(scores))], axis=1)
    line = np.zeros(2)
    for _ in range(50):
        chance = _sigmoid(columns @ line)
        slopes = columns.T @ (chance - labels) + 1e-3 * line
        curve = (columns * (chance * (1 - chance))[:, None]).T @ columns + 1e-3 * np.eye(2)
        line = line - np.linalg.solve(curve, slopes)
    # A score that says the contrary of what is so says nothing.
    return max(float(line[0]), 0.0), float(line[1])


def _sigmoid(scores: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(scores, -30, 30)))


def _tested(classifier: Classifier, features: Vector, labels: npt.NDArray[np.bool_]) -> Quality:
    chances = np.array([classifier.probability(one) for one in features])
    said = chances >= classifier.share
    right = int((said & labels).sum())
    yes, no = max(int(labels.sum()), 1), max(int((~labels).sum()), 1)
    precision, recall = right / max(int(said.sum()), 1), right / yes
    return Quality(
        rows=len(labels),
        share=float(labels.mean()),
        accuracy=float((said == labels).mean()),
        balanced_accuracy=(recall + int((~said & ~labels).sum()) / no) / 2,
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / max(precision + recall, 1e-9),
        roc_auc=_roc_auc(chances, labels),
        brier=float(((chances - labels) ** 2).mean()),
    )


def _roc_auc(chances: Array, labels: npt.NDArray[np.bool_]) -> float:
    """How often a problem that meets the criterion gets the higher chance of two."""
    yes, no = chances[labels][:, None], chances[~labels][None, :]
    return float(((yes > no) + 0.5 * (yes == no)).mean()) if yes.size and no.size else float("nan")
