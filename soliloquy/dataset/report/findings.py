"""Holds all that the overview shows of a dataset."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from soliloquy.dataset.card import thing
from soliloquy.dataset.durations import Durations
from soliloquy.dataset.report.sample import CheckedSample
from soliloquy.dataset.statistics import LETTERS, Statistics


class BankFamily(Protocol):
    @property
    def topic(self) -> str: ...

    @property
    def difficulty(self) -> int: ...


# Returns the families of a bank by name; none for a name that is no bank's.
Families = Callable[[str], Mapping[str, BankFamily]]


@dataclass(frozen=True, kw_only=True)
class Findings:
    accepted: Statistics = field(default_factory=Statistics)
    rejected: Statistics = field(default_factory=Statistics)
    sample: CheckedSample = field(default_factory=CheckedSample)
    durations: Durations = field(default_factory=Durations)
    families: Families = lambda bank: {}

    def __post_init__(self) -> None:
        # Accepted and rejected conversations about a problem share its enrichment.
        self.rejected.enrichments = self.accepted.enrichments

    def add(self, batch: pa.RecordBatch, *, rejected: bool) -> None:
        (self.rejected if rejected else self.accepted).add(batch)
        if not rejected:
            self.sample.add(batch)

    @property
    def generated(self) -> int:
        return self.accepted.conversations + self.rejected.conversations

    @property
    def things(self) -> str:
        return thing(self.accepted)

    @property
    def verdicts(self) -> int:
        """The accepted conversations' verdicts on an answer, which have a basis or lack one."""
        return self.accepted.verification.total()

    @property
    def unverified(self) -> int:
        return self.accepted.verification["none"]

    @property
    def verdicts_without_record(self) -> int:
        """The number of verdicts in a dataset that does not say what supports them."""
        judging = set().union(*self.accepted.recipe.agreeing.values())
        judged = (n for word, n in self.accepted.evaluations.items() if LETTERS.get(word) in judging)
        return 0 if self.verdicts else sum(judged)
