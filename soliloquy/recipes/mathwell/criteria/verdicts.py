"""What is judged of a word problem, and what the judges said."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from soliloquy.v1.conversation_pb2 import Problem


class Criterion(StrEnum):
    # Enough information, none that contradicts other, one answer.
    SOLVABLE = "solvable"
    # The code finds the answer that is asked for.
    ACCURATE = "accurate"
    # Sensible, plausible and fit for a school class; something has to be calculated.
    APPROPRIATE = "appropriate"


@dataclass(frozen=True, kw_only=True, slots=True)
class WordProblem:
    question: str
    # The whole of `def solution():`.
    code: str
    # What it returned when it was run; None where it returned no number, or nobody ran it.
    answer: float | None
    # Empty where none was asked for.
    topic: str = ""
    # The school year that was asked for; None where none was.
    grade: int | None = None

    @classmethod
    def from_problem(cls, problem: Problem) -> Self:
        commission = problem.authorship.commission
        return cls(
            question=problem.question,
            code=problem.solution,
            answer=problem.answer.value if problem.HasField("answer") else None,
            topic=commission.topic,
            grade=commission.grade or None,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Opinion:
    """What one judge says of one criterion."""

    criterion: Criterion
    # None where the judge cannot tell.
    meets: bool | None
    # "rule conflict", "classifier", "model".
    judge: str
    # One sentence.
    because: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    opinions: Sequence[Opinion]
    # Whether the question is about its topic; None where none was asked for.
    topic_named: bool | None

    def of(self, criterion: Criterion) -> Iterator[Opinion]:
        return (opinion for opinion in self.opinions if opinion.criterion == criterion)

    def meets(self, criterion: Criterion) -> bool | None:
        """Judges have to agree: one "no" is enough for a no; None where none of them can tell."""
        said = {opinion.meets for opinion in self.of(criterion)}
        if False in said:
            return False
        return True if True in said else None

    @property
    def meets_all(self) -> bool:
        """What nobody can tell is not met."""
        return all(self.meets(criterion) for criterion in Criterion)

    @property
    def objections(self) -> list[str]:
        """Why the problem is not kept, as "criterion: judge: reason"; nothing where all criteria are met."""
        found = [f"{one.criterion}: {one.judge}: {one.because}" for one in self.opinions if one.meets is False]
        return found + [f"{one}: nobody can tell" for one in Criterion if self.meets(one) is None]
