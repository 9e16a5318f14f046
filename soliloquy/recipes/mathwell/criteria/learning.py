"""Calibrates the judges on labelled problems: learns the classifiers, sets their thresholds, and measures them.

Every figure is of problems that were not learned from: each fifth is judged by what the other four taught.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from soliloquy.recipes.mathwell.criteria.classifiers import Classifier, Classifiers
from soliloquy.recipes.mathwell.criteria.features import HASHED, OF_PROGRAM, Vector, vector
from soliloquy.recipes.mathwell.criteria.measured import Array, Flags, Measured
from soliloquy.recipes.mathwell.criteria.scoring import score
from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, Labelled, Scores, WordProblem
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.seeds import seed

FOLDS = 5
# Strong regularisation, as in the paper: few rows, many features.
DECAY = 2e-3
RATE = 8.0
ROUNDS = 120
# The least number of rows per label.
LEAST = 10

# There are many features of programs: fewer rows than these teach little of each.
MANY_ROWS = 1000
FEW_ROWS_WEIGHT = 0.5

Folds = npt.NDArray[np.int_]


def calibrate(rows: Sequence[Labelled], keep: float, run_seed: int) -> tuple[Classifiers, list[Measured]]:
    """Sets the thresholds so that the share `keep` of good problems meets all of them; raises Failure."""
    for criterion in Criterion:
        labels = [row.labels[criterion] for row in rows if criterion in row.labels]
        if min(sum(labels), len(labels) - sum(labels)) < LEAST:
            told = f"there are {sum(labels)} yes, {len(labels) - sum(labels)} no"
            raise Failure(f"{criterion}: at least {LEAST} rows of each label are required; {told}")
    features = np.stack([vector(row.problem) for row in rows])
    folds = np.array([_fold(row.problem, run_seed) for row in rows])
    good = np.array([row.is_good for row in rows])
    fits = {criterion: _Fit.of(features, rows, criterion, folds) for criterion in Criterion}
    chances = np.stack([fit.chances for fit in fits.values()])
    said = np.zeros_like(chances, dtype=bool)
    for fold in range(FOLDS):
        inside = folds == fold
        thresholds = _thresholds(chances[:, ~inside & good], keep)
        said[:, inside] = chances[:, inside] >= thresholds[:, None]
    thresholds = _thresholds(chances[:, good], keep)
    found = {
        criterion: fit.classifier(float(threshold))
        for (criterion, fit), threshold in zip(fits.items(), thresholds, strict=True)
    }
    ruled = [score(row.problem) for row in rows]
    measured = [*_by_criterion(ruled, fits, features, folds), *_of_all(rows, ruled, good, said, chances.prod(axis=0))]
    return Classifiers(by_criterion=found), measured


def _fold(problem: WordProblem, run_seed: int) -> int:
    """Keeps a story that is told twice with other numbers in one fold."""
    return seed("criteria", run_seed, re.sub(r"\d+", "#", problem.question)) % FOLDS


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fit:
    weights: Vector
    slope: float
    offset: float
    # The probability of each row, by what the other folds teach.
    chances: Array
    # Whether each row is labelled, and with yes.
    labelled: Flags
    met: Flags

    @classmethod
    def of(cls, features: Vector, rows: Sequence[Labelled], criterion: Criterion, folds: Folds) -> "_Fit":
        labelled = np.array([criterion in row.labels for row in rows])
        met = np.array([row.labels.get(criterion, False) for row in rows])
        scores = _scores(features, met, labelled, folds)
        chances = np.zeros(len(rows))
        for fold in range(FOLDS):
            inside = folds == fold
            others = labelled & ~inside
            slope, offset = _calibration(scores[others], met[others])
            chances[inside] = _sigmoid(slope * scores[inside] + offset)
        slope, offset = _calibration(scores[labelled], met[labelled])
        weights = _weights(features[labelled], met[labelled])
        return cls(weights=weights, slope=slope, offset=offset, chances=chances, labelled=labelled, met=met)

    def classifier(self, threshold: float) -> Classifier:
        return Classifier(weights=self.weights, slope=self.slope, offset=self.offset, threshold=threshold)


def _scores(features: Vector, met: Flags, labelled: Flags, folds: Folds) -> Array:
    """Returns the score of each row by what the other folds teach."""
    scores = np.zeros(len(met))
    for fold in range(FOLDS):
        inside, others = folds == fold, labelled & (folds != fold)
        scores[inside] = features[inside] @ _weights(features[others], met[others])
    return scores


def _thresholds(chances: Array, keep: float) -> Array:
    """Returns the highest thresholds, at one quantile of each row, that the share `keep` of all columns meets."""
    lowest, highest = 0.0, 1.0
    for _ in range(20):
        middle = (lowest + highest) / 2
        is_met = (chances >= np.quantile(chances, middle, axis=1)[:, None]).all(axis=0)
        lowest, highest = (middle, highest) if is_met.mean() >= keep else (lowest, middle)
    return np.asarray(np.quantile(chances, lowest, axis=1))


def _weights(features: Vector, labels: Flags) -> Vector:
    """Fits the weights by accelerated gradient descent; both labels have the same total weight."""
    share = np.where(labels, 0.5 / max(labels.mean(), 1e-9), 0.5 / max((~labels).mean(), 1e-9)) / len(labels)
    # Few rows have few features, so most columns are empty.
    filled = features.any(axis=0)
    scale = np.ones(features.shape[1], dtype=np.float32)
    scale[OF_PROGRAM] = 1.0 if len(labels) >= MANY_ROWS else FEW_ROWS_WEIGHT
    rows = np.ascontiguousarray(features[:, filled] * scale[filled])
    columns = np.ascontiguousarray(rows.T)
    weights = speed = np.zeros(len(columns), dtype=np.float32)
    for _ in range(ROUNDS):
        ahead = weights + 0.9 * speed
        off = (share * (_sigmoid(rows @ ahead) - labels)).astype(np.float32)
        speed = 0.9 * speed - RATE * (columns @ off + DECAY * ahead)
        weights = weights + speed
    found = np.zeros(features.shape[1], dtype=np.float32)
    found[filled] = weights * scale[filled]
    return found


def _calibration(scores: Array, labels: Flags) -> tuple[float, float]:
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


def _by_criterion(
    ruled: Sequence[Scores], fits: Mapping[Criterion, _Fit], features: Vector, folds: Folds
) -> Iterator[Measured]:
    sources = {"words": features * (np.arange(features.shape[1]) < HASHED), "weighed rules": features * 1.0}
    sources["weighed rules"][:, :HASHED] = 0
    for criterion, fit in fits.items():
        labelled, met = fit.labelled, fit.met[fit.labelled]
        unopposed = np.array([one.meets(criterion) is not False for one in ruled])[labelled]
        yield Measured(subject=criterion, judge="rules", met=met, said=unopposed)
        for judge, part in sources.items():
            scores = _scores(part, fit.met, labelled, folds)[labelled]
            yield Measured(subject=criterion, judge=judge, met=met, said=scores >= 0, chances=scores)
        # The labels have the same total weight where the weights are learned.
        share = float(met.mean())
        chances = fit.chances[labelled]
        yield Measured(subject=criterion, judge="both", met=met, said=chances >= share, chances=chances)


def _of_all(
    rows: Sequence[Labelled], ruled: Sequence[Scores], good: Flags, said: Flags, chances: Array
) -> Iterator[Measured]:
    approved = np.array([one.meets_all for one in ruled])
    kept: Flags = np.asarray(said.all(axis=0))
    for writer in ("", *sorted({row.writer for row in rows} - {""})):
        of = np.array([not writer or row.writer == writer for row in rows])
        # Too few rows tell nothing.
        if min(good[of].sum(), (~good[of]).sum()) < LEAST:
            continue
        subject = writer or "all"
        yield Measured(subject=subject, judge="rules", met=good[of], said=approved[of])
        yield Measured(subject=subject, judge="both", met=good[of], said=kept[of], chances=chances[of])
