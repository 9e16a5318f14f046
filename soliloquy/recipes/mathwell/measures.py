"""What can be measured of a set of word problems without asking anybody, in the terms of the paper's tables."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

from soliloquy.recipes.mathwell.readability import dale_chall, flesch_kincaid, tokens
from soliloquy.runtime.seeds import seed
from soliloquy.truth.phrases import shared_words

# So many stand for the set where each is held beside others, or read by a model.
SAMPLE = 200


class Drawn(NamedTuple):
    """One of the sample: the lowest draws are taken, in whatever order the problems come."""

    draw: int
    question: str
    code: str


@dataclass(kw_only=True)
class Measured:
    """Sums over problems; those of two parts add up to those of the whole."""

    problems: int = 0
    reading_grades: float = 0.0
    # None without the list of familiar words.
    dale_chall: float | None = 0.0
    tokens: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    _drawn: list[Drawn] = field(default_factory=list)

    def add(self, question: str, code: str, operations: Iterable[str]) -> None:
        familiar = dale_chall(question)
        self.problems += 1
        self.reading_grades += flesch_kincaid(question)
        self.dale_chall = _sum(self.dale_chall, familiar)
        self.tokens += tokens(question)
        self.operations.update(operations)
        self._drawn.append(Drawn(seed("sample", question), question, code))
        if len(self._drawn) > 10 * SAMPLE:
            self._drawn = self.sample

    def __add__(self, other: "Measured") -> "Measured":
        return Measured(
            problems=self.problems + other.problems,
            reading_grades=self.reading_grades + other.reading_grades,
            dale_chall=_sum(self.dale_chall, other.dale_chall),
            tokens=self.tokens + other.tokens,
            operations=self.operations + other.operations,
            _drawn=self._drawn + other._drawn,
        )

    @property
    def sample(self) -> list[Drawn]:
        return nsmallest(SAMPLE, self._drawn)

    def as_json(self) -> dict[str, Any]:
        """Means; None where there is nothing to measure, or nothing to measure it with."""
        return {
            "reading_grade": self._mean(self.reading_grades),
            "dale_chall": self._mean(self.dale_chall),
            "tokens": self._mean(self.tokens),
            "self_similarity": self._self_similarity(),
            "operations": {name: self._share(count) for name, count in sorted(self.operations.items())},
            "distinct_operations": self._mean(self.operations.total()),
        }

    def _mean(self, total: float | None) -> float | None:
        return None if total is None or not self.problems else round(total / self.problems, 2)

    def _share(self, count: int) -> float:
        return round(100 * count / self.problems, 1)

    def _self_similarity(self) -> float | None:
        """The share of their words that two questions have in common, in per cent; the mean over the sample's pairs."""
        pairs = combinations((one.question for one in self.sample), 2)
        shared = [shared_words(one, other) for one, other in pairs]
        return round(100 * fmean(shared), 1) if shared else None


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
