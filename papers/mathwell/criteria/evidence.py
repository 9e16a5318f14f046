"""Turns all that can be found out about a word problem besides reading it into numbers that a regression weighs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from soliloquy.truth.number_format import format_exact
from soliloquy.v1.conversation_pb2 import Opinion
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, opinion

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
        yield opinion(criterion, meets=said, judge="model", because=f"a model says {'yes' if said else 'no'}")


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
