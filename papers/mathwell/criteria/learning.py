"""Calibrates the judges on labelled problems: learns the classifiers, sets their thresholds, and measures them.

Every figure is of problems that were not learned from: each fifth is judged by what the other four taught.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from soliloquy.annotation.measured import Measured
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.seeds import seed
from soliloquy_papers.mathwell.criteria.classifiers import Classifier, Classifiers, Scale
from soliloquy_papers.mathwell.criteria.features import Array, Flags, vector
from soliloquy_papers.mathwell.criteria.forest import Forest
from soliloquy_papers.mathwell.criteria.scoring import score
from soliloquy_papers.mathwell.criteria.verdicts import (
    NAMES,
    SOURCES,
    Criterion,
    Evidence,
    Labelled,
    Scores,
    evidence_vector,
)

# The least number of rows per label.
LEAST = 10
FOLDS = 5
# The judges: what is read in text and program, and that with all evidence.
READ, EXAMINED = "both", "all"


_Columns = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Table:
    rows: Sequence[Labelled]
    folds: npt.NDArray[np.int_]
    good: Flags
    features: Flags
    # No columns if nobody examined the problems.
    evidence: Array
    ruled: Sequence[Scores]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Criterion:
    labelled: Flags
    met: Flags
    # The columns of each judge.
    columns: Mapping[str, Array]
    # The probabilities of each row by each judge, by what the other folds teach.
    chances: Mapping[str, Array]

    @classmethod
    def of(cls, table: _Table, criterion: Criterion) -> "_Criterion":
        labelled = np.array([criterion in row.labels for row in table.rows])
        met = np.array([row.labels.get(criterion, False) for row in table.rows])

        def by_others(columns: _Columns, learn: Callable[[_Columns, Flags], Callable[[_Columns], Array]]) -> Array:
            scores = np.zeros(len(met))
            for fold in range(FOLDS):
                inside, others = table.folds == fold, labelled & (table.folds != fold)
                # Nothing is learned from rows that all have the same label.
                if 0 < met[others].sum() < others.sum():
                    scores[inside] = learn(columns[others], met[others])(columns[inside])
            return scores

        scores = by_others(table.features, lambda features, labels: Forest.grown(features, labels).scores)[:, None]
        columns: dict[str, Array] = {}
        if table.evidence.size:
            for source, names in SOURCES.items():
                columns[source] = table.evidence[:, [NAMES.index(f"{source}: {name}") for name in names]]
        columns[READ] = scores
        if table.evidence.size:
            columns[EXAMINED] = np.hstack([scores, table.evidence])
        chances = {
            judge: by_others(found, lambda given, labels: _line(given, labels).chances)
            for judge, found in columns.items()
        }
        return cls(labelled=labelled, met=met, columns=columns, chances=chances)


def _line(columns: Array, labels: Flags) -> Scale:
    learned = LogisticRegression(max_iter=1000).fit(columns, labels)
    return Scale(np.array([*learned.coef_[0], *learned.intercept_]))


def calibrate(
    rows: Sequence[Labelled], keep: float, run_seed: int, evidence: Sequence[Evidence] = ()
) -> tuple[Classifiers, list[Measured]]:
    """Sets the thresholds so that the share `keep` of good problems meets all of them; raises Failure.

    With the evidence of each row, problems that are examined have a probability and a threshold of their own.
    """
    for criterion in Criterion:
        labels = [row.labels[criterion] for row in rows if criterion in row.labels]
        if min(sum(labels), len(labels) - sum(labels)) < LEAST:
            told = f"there are {sum(labels)} yes, {len(labels) - sum(labels)} no"
            raise Failure(f"{criterion}: at least {LEAST} rows of each label are required; {told}")
    table = _Table(
        rows=rows,
        # Keeps a story that is told twice with other numbers in one fold.
        folds=np.array([seed("criteria", run_seed, re.sub(r"\d+", "#", row.problem.question)) % FOLDS for row in rows]),
        good=np.array([row.is_good for row in rows]),
        features=np.stack([vector(row.problem) for row in rows]),
        evidence=np.array(
            [evidence_vector(one, row.problem.answer) for row, one in zip(rows, evidence, strict=True)]
            if evidence
            else np.zeros((len(rows), 0))
        ),
        ruled=[score(row.problem) for row in rows],
    )
    fits = {criterion: _Criterion.of(table, criterion) for criterion in Criterion}
    judges = [READ, *([EXAMINED] if evidence else [])]
    chances = {judge: np.stack([fit.chances[judge] for fit in fits.values()]) for judge in judges}
    thresholds = {judge: _thresholds(found[:, table.good], keep) for judge, found in chances.items()}
    learned = {}
    for place, (criterion, fit) in enumerate(fits.items()):
        met = fit.met[fit.labelled]
        scales = {
            judge: Scale(_line(fit.columns[judge][fit.labelled], met).line, float(thresholds[judge][place]))
            for judge in judges
        }
        learned[criterion] = Classifier(
            forest=Forest.grown(table.features[fit.labelled], met), read=scales[READ], examined=scales.get(EXAMINED)
        )
    return Classifiers(by_criterion=learned), [*_by_criterion(table, fits), *_of_all(table, chances, keep)]


def _thresholds(chances: Array, keep: float) -> Array:
    """Returns the highest thresholds, at one quantile of each row, that the share `keep` of all columns meets."""
    lowest, highest = 0.0, 1.0
    for _ in range(20):
        middle = (lowest + highest) / 2
        is_met = (chances >= np.quantile(chances, middle, axis=1)[:, None]).all(axis=0)
        lowest, highest = (middle, highest) if is_met.mean() >= keep else (lowest, middle)
    return np.asarray(np.quantile(chances, lowest, axis=1))


def _by_criterion(table: _Table, fits: Mapping[Criterion, _Criterion]) -> Iterator[Measured]:
    for criterion, fit in fits.items():
        labelled, met = fit.labelled, fit.met[fit.labelled]
        unopposed = np.array([one.meets(criterion) is not False for one in table.ruled])[labelled]
        yield Measured(subject=criterion, judge="rules", met=met, said=unopposed)
        # The labels have the same total weight where the trees are grown.
        share = float(met.mean())
        for judge, chances in fit.chances.items():
            found = chances[labelled]
            yield Measured(subject=criterion, judge=judge, met=met, said=found >= share, chances=found)


def _of_all(table: _Table, chances: Mapping[str, Array], keep: float) -> Iterator[Measured]:
    approved = np.array([one.meets_all for one in table.ruled])
    kept = {judge: _kept(table, found, keep) for judge, found in chances.items()}
    for writer in ("", *sorted({row.writer for row in table.rows} - {""})):
        of = np.array([not writer or row.writer == writer for row in table.rows])
        good = table.good[of]
        # Too few rows tell nothing.
        if min(good.sum(), (~good).sum()) < LEAST:
            continue
        subject = writer or "all"
        yield Measured(subject=subject, judge="rules", met=good, said=approved[of])
        for judge, found in chances.items():
            yield Measured(subject=subject, judge=judge, met=good, said=kept[judge][of], chances=found.prod(axis=0)[of])


def _kept(table: _Table, chances: Array, keep: float) -> Flags:
    """Returns which rows meet all thresholds that the other folds set."""
    said = np.zeros_like(chances, dtype=bool)
    for fold in range(FOLDS):
        inside = table.folds == fold
        said[:, inside] = chances[:, inside] >= _thresholds(chances[:, ~inside & table.good], keep)[:, None]
    return np.asarray(said.all(axis=0))
