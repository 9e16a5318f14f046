"""Word problems, the criteria, and the opinions of judges."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from soliloquy.recipes.mathwell.commissions import authorship_of
from soliloquy.v1.conversation_pb2 import Problem


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Opinion:
    """The opinion of one judge on one criterion."""

    criterion: Criterion
    # None if the judge cannot tell.
    meets: bool | None
    # "rule conflict", "classifier", "model".
    judge: str
    # One sentence.
    because: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    opinions: Sequence[Opinion]
    # Whether the question names its topic; None if none was requested.
    topic_named: bool | None

    def of(self, criterion: Criterion) -> Iterator[Opinion]:
        return (opinion for opinion in self.opinions if opinion.criterion == criterion)

    def meets(self, criterion: Criterion) -> bool | None:
        """Returns False if any judge objects, None if no judge can tell."""
        said = {opinion.meets for opinion in self.of(criterion)}
        if False in said:
            return False
        return True if True in said else None

    @property
    def meets_all(self) -> bool:
        """Whether judges approve every criterion; an undecided criterion is not met."""
        return all(self.meets(criterion) for criterion in Criterion)

    @property
    def objections(self) -> list[str]:
        """The objections to the problem, as "criterion: judge: reason"."""
        found = [f"{one.criterion}: {one.judge}: {one.because}" for one in self.opinions if one.meets is False]
        return found + [f"{one}: nobody can tell" for one in Criterion if self.meets(one) is None]
