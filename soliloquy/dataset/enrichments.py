"""Counts the enrichment of each problem once: all conversations about the problem share it."""

from collections.abc import Container
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class CountedEnrichments:
    # Problems whose enrichment was counted before, and those counted since.
    known: Container[str] = ()
    problems: set[str] = field(default_factory=set)

    def is_first(self, problem: str) -> bool:
        if problem in self.known or problem in self.problems:
            return False
        self.problems.add(problem)
        return True
