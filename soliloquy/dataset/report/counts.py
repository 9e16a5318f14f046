"""Counts what the report shows of a dataset beside its statistics: difficulty, families, lengths in tokens, reasons."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.columns import below, named, value_counts
from soliloquy.dataset.durations import Histogram, binned
from soliloquy.dataset.statistics import kinds_of_reasons

# "physics/free_fall#17": the bank and its family.
_FAMILY = re.compile(r"([^/:#]+)/([^/:#]+)")


@dataclass(kw_only=True)
class ReportCounts:
    """The counts of the accepted or of the rejected conversations."""

    # Conversations by bank and family, for problems of a bank.
    families: Counter[tuple[str, str]] = field(default_factory=Counter)
    # Conversations by the number of steps of their problem's solution.
    steps: Counter[int] = field(default_factory=Counter)
    # Conversations by the rules for which they were rejected; one may have several.
    reasons: Counter[str] = field(default_factory=Counter)
    # Replies by the tutor's evaluation of the message.
    evaluations: Counter[str] = field(default_factory=Counter)
    # Tokens that a call reads and writes, and that all calls of a conversation do, in bins.
    tokens: dict[str, Histogram] = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch) -> None:
        sources = pc.replace_substring_regex(below(batch["problem"], "source"), "#.*", "")
        for source, count in value_counts(sources).items():
            if found := _FAMILY.fullmatch(source):
                self.families[found[1], found[2]] += count
        self.steps += value_counts(pc.list_value_length(pc.struct_field(batch["problem"], "steps")))
        if "reasons" in batch.schema.names:
            rows = pc.list_parent_indices(batch["reasons"])
            kinds = kinds_of_reasons(pc.list_flatten(batch["reasons"]))
            self.reasons += Counter(kind for _, kind in value_counts(rows, kinds))
        turns = pc.list_flatten(batch["turns"])
        self.evaluations += value_counts(named(below(turns, "tutor", "evaluation"), "EVALUATION_"))
        self._add_tokens(pc.struct_field(turns, "calls"), pc.list_parent_indices(batch["turns"]), len(batch))

    def _add_tokens(self, calls: pa.Array, rows: pa.Array, conversations: int) -> None:
        """`rows` has the conversation of each turn."""
        read, written = (np.asarray(below(calls.flatten(), f"{kind}_tokens")) for kind in ("prompt", "completion"))
        places = np.asarray(rows)[np.asarray(pc.list_parent_indices(calls))]
        whole = np.bincount(places, read + written, minlength=conversations)
        for name, lengths in (("read by a call", read), ("written by a call", written), ("of a conversation", whole)):
            self.tokens[name] = self.tokens.get(name, Counter()) + binned(pa.array(lengths, pa.float64()))


def combined(one: Mapping[str, Histogram], other: Mapping[str, Histogram]) -> dict[str, Histogram]:
    return {name: one.get(name, Counter[Any]()) + other.get(name, Counter()) for name in {**one, **other}}
