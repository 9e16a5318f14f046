"""Counts the word problems that were written to order, as table 2 of the MATHWELL paper does."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.columns import below
from soliloquy.dataset.reading import Dataset
from soliloquy_papers.mathwell.criteria.verdicts import Criterion
from soliloquy_papers.mathwell.figures.problem_measures import ProblemMeasures

_COLUMNS = [
    *(f"problem.{name}" for name in ("question", "solution", "answer", "labels")),
    "turns.calculation.attempts.execution.status",
]


@dataclass(kw_only=True)
class AuthoredProblems:
    """Counts of problems, accepted or not."""

    written: int = 0
    # Problems whose function returned a number; only those are judged.
    ran: int = 0
    # By criterion; only solvable problems count for accuracy and appropriateness.
    meets: Counter[str] = field(default_factory=Counter)
    meets_all: int = 0
    # Problems with a requested topic, and problems that name it.
    topics: int = 0
    named: int = 0
    measured: ProblemMeasures = field(default_factory=ProblemMeasures)

    def add(self, batch: pa.RecordBatch) -> None:
        to_order = batch.filter(below(batch["problem"], "labels", "authorship").is_valid())
        for row in to_order.select(["problem", "turns"]).to_pylist():
            if not any(turn["calculation"] and turn["calculation"]["attempts"] for turn in row["turns"]):
                continue
            self.written += 1
            problem = row["problem"]
            authorship = problem["labels"]["authorship"]
            if authorship is None or authorship["measures"] is None or problem["answer"] is None:
                continue
            self.ran += 1
            self._judge(authorship["opinions"])
            measures = authorship["measures"]
            if authorship["commission"]["topic"]:
                self.topics += 1
                self.named += measures["names_topic"]
            self.measured.add(problem["question"], problem["solution"])

    def __add__(self, other: "AuthoredProblems") -> "AuthoredProblems":
        return AuthoredProblems(
            **{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)}
        )

    def _judge(self, opinions: Iterable[Mapping[str, str]]) -> None:
        """A criterion is met if at least one judge says yes and none says no."""
        rulings_by: dict[str, set[str]] = {criterion: set() for criterion in Criterion}
        for opinion in opinions:
            # The topic of a story is no criterion.
            if opinion["criterion"] in rulings_by:
                rulings_by[opinion["criterion"]].add(opinion["ruling"])
        met = {name for name, rulings in rulings_by.items() if "RULING_NO" not in rulings and "RULING_YES" in rulings}
        if "solvable" in met:
            self.meets.update(met)
        self.meets_all += len(met) == len(Criterion)

    def shares(self) -> dict[str, float | None]:
        """Returns percentages as the paper has them; None for a share of nothing."""
        solvable = self.meets["solvable"]
        return {
            "ran": _percent(self.ran, self.written),
            "solvable": _percent(solvable, self.ran),
            "accurate": _percent(self.meets["accurate"], solvable),
            "appropriate": _percent(self.meets["appropriate"], solvable),
            "all": _percent(self.meets_all, self.ran),
            "named": _percent(self.named, self.topics),
            "ran and all": _percent(self.meets_all, self.written),
        }

    def as_json(self) -> dict[str, Any]:
        return {"written": self.written, **self.shares(), **self.measured.as_json()}


def count_authored(dataset: Dataset) -> AuthoredProblems:
    """Counts all problems written to order, accepted or not."""
    counted = AuthoredProblems()
    for rejected in (False, True):
        if dataset.count(rejected=rejected):
            for batch in dataset.batches(_COLUMNS, rejected=rejected):
                counted.add(batch)
    return counted


def _percent(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 1) if whole else None


def measures(batch: pa.RecordBatch) -> Counter[str]:
    """Counts the problems that have an answer, their tokens, and how many use each operation."""
    problems, counted = batch["problem"], Counter[str]()
    authorships = below(problems, "labels", "authorship")
    with_answer = pc.and_(authorships.is_valid(), below(problems, "answer").is_valid())
    for measured in below(authorships, "measures").filter(with_answer).to_pylist():
        operations = dict.fromkeys(measured["operations"], 1) if measured else {}
        counted.update({"problems": 1, "tokens": measured["tokens"] if measured else 0, **operations})
    return counted
