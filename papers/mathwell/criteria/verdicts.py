"""Word problems, the criteria, and the opinions of judges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Self

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


class Labelled(NamedTuple):
    problem: WordProblem
    # A problem that cannot be solved has no label for the other criteria.
    labels: Mapping[Criterion, bool]
    writer: str = ""

    @property
    def is_good(self) -> bool:
        return all(self.labels.get(criterion, False) for criterion in Criterion)


def opinion(criterion: Criterion, *, meets: bool | None, judge: str, because: str) -> Opinion:
    """Returns the opinion of a judge such as "rule conflict" or "model"; `meets` is None if the judge cannot tell."""
    ruling = {True: Ruling.RULING_YES, False: Ruling.RULING_NO, None: Ruling.RULING_UNDECIDED}[meets]
    return Opinion(criterion=criterion, ruling=ruling, judge=judge, because=because)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    opinions: Sequence[Opinion]
    # Whether the question names its topic; None if none was requested.
    topic_named: bool | None

    def meets(self, criterion: Criterion) -> bool | None:
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
