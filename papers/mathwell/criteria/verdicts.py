"""Word problems, the criteria, the opinions of judges, and the evidence for them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Self

from soliloquy.truth.number_format import format_exact
from soliloquy.v1.conversation_pb2 import Opinion, Problem, Ruling
from soliloquy_papers.mathwell.commissions import authorship_of


class Criterion(StrEnum):
    # Sufficient, consistent information and one answer.
    SOLVABLE = "solvable"
    # The code finds the requested answer.
    ACCURATE = "accurate"
    # Sensible, plausible and fit for a school class; something has to be calculated.
    APPROPRIATE = "appropriate"


@dataclass(frozen=True, kw_only=True, slots=True)
class WordProblem:
    question: str
    # The complete `def solution():`.
    code: str
    # The result of its execution; None if it returned no number or did not run.
    answer: float | None
    # Empty if none was requested.
    topic: str = ""
    # The requested school year, if any.
    grade: int | None = None

    @classmethod
    def from_problem(cls, problem: Problem) -> Self:
        commission = authorship_of(problem).commission
        return cls(
            question=problem.question,
            code=problem.solution,
            answer=problem.answer.value if problem.HasField("answer") else None,
            topic=commission.topic,
            grade=commission.grade or None,
        )


# The name of the judge that is a language model, and of its word on the topic of a problem, which is no criterion.
MODEL, TOPIC = "model", "topic"


class Labelled(NamedTuple):
    problem: WordProblem
    # A problem that cannot be solved has no label for the other criteria.
    labels: Mapping[Criterion, bool]
    writer: str = ""

    @property
    def is_good(self) -> bool:
        return all(self.labels.get(criterion, False) for criterion in Criterion)


def opinion(criterion: str, *, meets: bool | None, judge: str, because: str) -> Opinion:
    """Returns the opinion of a judge such as "rule conflict" or "model"; `meets` is None if the judge cannot tell."""
    ruling = {True: Ruling.RULING_YES, False: Ruling.RULING_NO, None: Ruling.RULING_UNDECIDED}[meets]
    return Opinion(criterion=criterion, ruling=ruling, judge=judge, because=because)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    opinions: Sequence[Opinion]
    # Whether the question names its topic; None if none was requested.
    topic_named: bool | None = None

    def meets(self, criterion: str) -> bool | None:
        """Returns False if any judge objects, None if no judge can tell."""
        rulings = {one.ruling for one in self.opinions if one.criterion == criterion}
        if Ruling.RULING_NO in rulings:
            return False
        return True if Ruling.RULING_YES in rulings else None

    @property
    def meets_all(self) -> bool:
        """Whether judges approve every criterion; an undecided criterion is not met."""
        return all(self.meets(criterion) for criterion in Criterion)

    @property
    def objections(self) -> list[str]:
        """The objections to the problem, as "criterion: judge: reason"."""
        against = (one for one in self.opinions if one.ruling == Ruling.RULING_NO)
        found = [f"{one.criterion}: {one.judge}: {one.because}" for one in against]
        return found + [f"{one}: nobody can tell" for one in Criterion if self.meets(one) is None]


# The source of each piece of evidence.
SOURCES: Mapping[str, Sequence[str]] = {
    "programs": ("agreeing", "contradicting", "in another unit", "different values", "failed", "inventing"),
    "probes": ("missing number", "another reading"),
    "model": tuple(Criterion),
}
NAMES = tuple(f"{source}: {name}" for source, names in SOURCES.items() for name in names)
_SAME = 1e-3
_HALF = 0.5
# An answer that is this many times too large or too small is in another unit.
_FACTORS = (7, 10, 12, 24, 60, 100, 1000, 3600)


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    # Results of programs that were written from the question alone; None for one that came to no number.
    values: Sequence[float | None] = ()
    # How many of them calculate with a number that the question does not give.
    inventing: int = 0
    # Whether a reader misses a number, and whether another way to read it has another answer; None if unknown.
    missing: bool | None = None
    ambiguous: bool | None = None
    # A model's opinion on each criterion.
    judged: Mapping[Criterion, bool] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        judged = {criterion.value: said for criterion, said in self.judged.items()}
        probes = {"missing_number": self.missing, "another_reading": self.ambiguous}
        return {"programs": list(self.values), "inventing": self.inventing, **probes, "model": judged}


def evidence_vector(evidence: Evidence, answer: float | None) -> list[float]:
    """Returns a number from -1 to 1 for each of NAMES; 0 stands for what nobody found out."""
    return [*_of_programs(evidence, answer), *_of_opinions(evidence)]


def opinions_by(evidence: Evidence, answer: float | None) -> Iterator[Opinion]:
    """Yields what the evidence says if nothing weighs it: what most programs contradict is not accurate."""
    values, (agreeing, contradicting, *_) = evidence.values, _of_programs(evidence, answer)
    if agreeing > _HALF or contradicting:
        came = ", ".join("nothing" if value is None else format_exact(value) for value in values)
        told = f"programs from the question alone come to {came}"
        yield opinion(Criterion.ACCURATE, meets=not contradicting, judge="programs", because=told)
    for criterion, said in evidence.judged.items():
        yield opinion(criterion, meets=said, judge=MODEL, because=f"a model says {'yes' if said else 'no'}")


def _of_programs(evidence: Evidence, answer: float | None) -> Iterator[float]:
    count = max(len(evidence.values), 1)
    values = [value for value in evidence.values if value is not None]
    alike = max((sum(_is(value, other) for other in values) for value in values), default=0)
    agreeing = sum(answer is not None and _is(value, answer) for value in values)
    yield agreeing / count
    # Programs that come to different numbers contradict none.
    yield float(2 * alike > count and 2 * agreeing <= count)
    yield sum(answer is not None and _is_in_other_unit(value, answer) for value in values) / count
    yield (len(values) - alike) / count
    yield (len(evidence.values) - len(values)) / count
    yield evidence.inventing / count


def _of_opinions(evidence: Evidence) -> Iterator[float]:
    for said in (evidence.missing, evidence.ambiguous, *(evidence.judged.get(criterion) for criterion in Criterion)):
        yield 0.0 if said is None else 1.0 if said else -1.0


def _is(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=1e-9)


def _is_in_other_unit(value: float, answer: float) -> bool:
    return bool(answer) and any(_is(value, answer * factor) or _is(value * factor, answer) for factor in _FACTORS)
