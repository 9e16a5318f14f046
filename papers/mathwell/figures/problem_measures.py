"""Measures a set of word problems by their texts alone, as the tables of the MATHWELL paper do."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from heapq import nsmallest
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

from soliloquy.runtime.seeds import seed
from soliloquy.texts.phrases import shared_words
from soliloquy_papers.mathwell.criteria.operations import operations_by_people
from soliloquy_papers.mathwell.readability import dale_chall, flesch_kincaid, tokens

# The size of the sample whose problems are compared with one another or read by a model.
SAMPLE_SIZE = 200


class SampledProblem(NamedTuple):
    """A problem of the sample, which holds the lowest draws and so does not depend on the order of the problems."""

    draw: int
    question: str
    code: str


def cells(figures: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Writes these figures for a table; empty for what was not measured."""
    return ["" if figures.get(name) is None else str(figures[name]) for name in names]


@dataclass(kw_only=True)
class ProblemMeasures:
    """Sums over problems; the sums of two parts add up to the sum of the whole."""

    problems: int = 0
    reading_grades: float = 0.0
    dale_chall: float = 0.0
    tokens: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    _sampled: list[SampledProblem] = field(default_factory=list)

    def add(self, question: str, code: str) -> None:
        self.problems += 1
        self.reading_grades += flesch_kincaid(question)
        # None without the list of familiar words.
        self.dale_chall += dale_chall(question) or 0.0
        self.tokens += tokens(question)
        self.operations.update(operations_by_people(code, question))
        self._sampled.append(SampledProblem(seed("sample", question), question, code))
        if len(self._sampled) > 10 * SAMPLE_SIZE:
            self._sampled = self.sample

    def __add__(self, other: "ProblemMeasures") -> "ProblemMeasures":
        return ProblemMeasures(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    @property
    def sample(self) -> list[SampledProblem]:
        return nsmallest(SAMPLE_SIZE, self._sampled)

    def as_json(self) -> dict[str, Any]:
        """Returns the means; None for a measure without problems, or without what it is measured with."""
        return {
            "reading_grade": self._mean(self.reading_grades),
            "dale_chall": None if dale_chall("") is None else self._mean(self.dale_chall),
            "tokens": self._mean(self.tokens),
            "self_similarity": self._self_similarity(),
            "operations": {
                name: round(100 * count / self.problems, 1) for name, count in sorted(self.operations.items())
            },
            "distinct_operations": self._mean(self.operations.total()),
        }

    def _mean(self, total: float) -> float | None:
        return round(total / self.problems, 2) if self.problems else None

    def _self_similarity(self) -> float | None:
        """Returns the mean share of words, in per cent, that two questions of the sample have in common."""
        pairs = combinations((one.question for one in self.sample), 2)
        shared = [shared_words(one, other) for one, other in pairs]
        return round(100 * fmean(shared), 1) if shared else None
