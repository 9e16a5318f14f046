"""Calibrates the judges on labelled problems: learns the classifiers, sets their thresholds, and measures them.

Every figure is of problems that were not learned from: each fifth is judged by what the other four taught.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.seeds import seed
from soliloquy_papers.mathwell.criteria.classifiers import Classifier, Classifiers, Scale
from soliloquy_papers.mathwell.criteria.evidence import NAMES, SOURCES, Evidence, evidence_vector
from soliloquy_papers.mathwell.criteria.features import HASHED, Array, Flags, Vector, vector
from soliloquy_papers.mathwell.criteria.forest import Forest
from soliloquy_papers.mathwell.criteria.learners import (
    FOLDS,
    Folds,
    by_line,
    by_others,
    by_trees,
    by_weights,
    fit_forest,
    fit_line,
    fit_weights,
)
from soliloquy_papers.mathwell.criteria.measured import Measured
from soliloquy_papers.mathwell.criteria.scale import SCORES
from soliloquy_papers.mathwell.criteria.scoring import score
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, Labelled, Scores, WordProblem

# The least number of rows per label.
LEAST = 10
# The judges: what is read in text and program, and that with all evidence.
READ, EXAMINED = "both", "all"


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
    folds = np.array([_fold(row.problem, run_seed) for row in rows])
    table = _Table(
        rows=rows,
        folds=folds,
        good=np.array([row.is_good for row in rows]),
        features=np.stack([vector(row.problem) for row in rows]),
        evidence=_evidence_columns(rows, evidence),
        ruled=[score(row.problem) for row in rows],
    )
    fits = {criterion: _Fit.of(table, criterion) for criterion in Criterion}
    judges = {READ: _Judge.of(table, [fit.read for fit in fits.values()], keep)}
    if evidence:
        judges[EXAMINED] = _Judge.of(table, [fit.examined for fit in fits.values()], keep)
    found = {
        criterion: fit.classifier([float(judge.thresholds[place]) for judge in judges.values()])
        for place, (criterion, fit) in enumerate(fits.items())
    }
    return Classifiers(by_criterion=found), [*_by_criterion(table, fits), *_of_all(table, judges)]


def _fold(problem: WordProblem, run_seed: int) -> int:
    """Keeps a story that is told twice with other numbers in one fold."""
    return seed("criteria", run_seed, re.sub(r"\d+", "#", problem.question)) % FOLDS


def _evidence_columns(rows: Sequence[Labelled], evidence: Sequence[Evidence]) -> Array:
    if not evidence:
        return np.zeros((len(rows), 0))
    return np.array([evidence_vector(one, row.problem.answer) for row, one in zip(rows, evidence, strict=True)])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Table:
    rows: Sequence[Labelled]
    folds: Folds
    good: Flags
    features: Vector
    # No columns if nobody examined the problems.
    evidence: Array
    ruled: Sequence[Scores]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fit:
    weights: Vector
    forest: Forest
    # From the scores to a probability, and from the scores and the evidence.
    lines: Sequence[Array]
    # The probabilities of each row, by what the other folds teach.
    read: Array
    examined: Array
    # Whether each row is labelled, and with yes.
    labelled: Flags
    met: Flags

    @classmethod
    def of(cls, table: _Table, criterion: Criterion) -> "_Fit":
        labelled = np.array([criterion in row.labels for row in table.rows])
        met = np.array([row.labels.get(criterion, False) for row in table.rows])
        scores = np.column_stack(
            [by_others(table.features, met, labelled, table.folds, learn) for learn in (by_weights, by_trees)]
        )
        ways = [scores, *([np.hstack([scores, table.evidence])] if table.evidence.size else [])]
        found = [by_others(columns, met, labelled, table.folds, by_line) for columns in ways]
        return cls(
            weights=fit_weights(table.features[labelled], met[labelled]),
            forest=fit_forest(table.features[labelled], met[labelled]),
            lines=[fit_line(columns[labelled], met[labelled]) for columns in ways],
            read=found[0],
            examined=found[-1],
            labelled=labelled,
            met=met,
        )

    def classifier(self, thresholds: Sequence[float]) -> Classifier:
        scales = [Scale(line, threshold) for line, threshold in zip(self.lines, thresholds, strict=True)]
        examined = scales[1] if len(scales) > 1 else None
        return Classifier(weights=self.weights, forest=self.forest, read=scales[0], examined=examined)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Judge:
    """The result of all criteria together."""

    thresholds: Array
    kept: Flags
    chances: Array

    @classmethod
    def of(cls, table: _Table, by_criterion: Sequence[Array], keep: float) -> "_Judge":
        chances = np.stack(by_criterion)
        said = np.zeros_like(chances, dtype=bool)
        for fold in range(FOLDS):
            inside = table.folds == fold
            thresholds = _thresholds(chances[:, ~inside & table.good], keep)
            said[:, inside] = chances[:, inside] >= thresholds[:, None]
        kept: Flags = np.asarray(said.all(axis=0))
        return cls(thresholds=_thresholds(chances[:, table.good], keep), kept=kept, chances=chances.prod(axis=0))


def _thresholds(chances: Array, keep: float) -> Array:
    """Returns the highest thresholds, at one quantile of each row, that the share `keep` of all columns meets."""
    lowest, highest = 0.0, 1.0
    for _ in range(20):
        middle = (lowest + highest) / 2
        is_met = (chances >= np.quantile(chances, middle, axis=1)[:, None]).all(axis=0)
        lowest, highest = (middle, highest) if is_met.mean() >= keep else (lowest, middle)
    return np.asarray(np.quantile(chances, lowest, axis=1))


def _by_criterion(table: _Table, fits: Mapping[Criterion, _Fit]) -> Iterator[Measured]:
    words = table.features * (np.arange(table.features.shape[1]) < HASHED)
    parts = {"words": words, "weighed rules": table.features - words}
    for criterion, fit in fits.items():
        labelled, met = fit.labelled, fit.met[fit.labelled]
        unopposed = np.array([one.meets(criterion) is not False for one in table.ruled])[labelled]
        yield Measured(subject=criterion, judge="rules", met=met, said=unopposed)
        for judge, part in parts.items():
            scores = by_others(part, fit.met, labelled, table.folds, by_weights)[labelled]
            yield Measured(subject=criterion, judge=judge, met=met, said=scores >= 0, chances=scores)
        of_judge = {**_of_sources(table, fit), READ: fit.read}
        if table.evidence.size:
            of_judge[EXAMINED] = fit.examined
        # The labels have the same total weight where the weights are learned.
        share = float(met.mean())
        for judge, chances in of_judge.items():
            found = chances[labelled]
            yield Measured(subject=criterion, judge=judge, met=met, said=found >= share, chances=found)


def _of_sources(table: _Table, fit: _Fit) -> Mapping[str, Array]:
    """Returns the probabilities by each source of evidence alone."""
    if not table.evidence.size:
        return {}
    found = {}
    for source, names in SOURCES.items():
        columns = [NAMES.index(f"{source}: {name}") for name in names]
        # There are no scores.
        of_source = np.hstack([np.zeros((len(table.rows), SCORES)), table.evidence[:, columns]])
        found[source] = by_others(of_source, fit.met, fit.labelled, table.folds, by_line)
    return found


def _of_all(table: _Table, judges: Mapping[str, _Judge]) -> Iterator[Measured]:
    approved = np.array([one.meets_all for one in table.ruled])
    for writer in ("", *sorted({row.writer for row in table.rows} - {""})):
        of = np.array([not writer or row.writer == writer for row in table.rows])
        good = table.good[of]
        # Too few rows tell nothing.
        if min(good.sum(), (~good).sum()) < LEAST:
            continue
        subject = writer or "all"
        yield Measured(subject=subject, judge="rules", met=good, said=approved[of])
        for name, judge in judges.items():
            yield Measured(subject=subject, judge=name, met=good, said=judge.kept[of], chances=judge.chances[of])
