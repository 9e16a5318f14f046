"""What the page knows of every conversation without unpacking it: what it lists, filters by and searches first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.columns import below, named, students, value_counts
from soliloquy.dataset.statistics import kinds_of_reasons

# The values of a filter that several may hold of one conversation are bits, and JavaScript shifts 32 of them.
_MOST_BITS = 30
KEPT, REJECTED = "kept", "rejected"

Marked = Iterator[tuple[str, pa.Array]]


@dataclass(kw_only=True)
class Facet:
    # Its values in the order they were met, and for each conversation one of them, or the bits of all it has.
    values: list[str] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    several: bool = False

    def place(self, value: str) -> int | None:
        if value not in self.values:
            if self.several and len(self.values) == _MOST_BITS:
                return None
            self.values.append(value)
        return self.values.index(value)


class ReportIndex:
    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {"id": [], "question": [], "turns": []}
        self._blocks: list[int] = []
        self._single = {name: Facet() for name in ("topic", "student", "ending", "resolution")}
        self._several = {name: Facet(several=True) for name in ("outcome", "mistake", "program")}

    def add(self, batch: pa.RecordBatch, blocks: Sequence[int]) -> None:
        """Rows, and how many of them each block holds."""
        problem = batch["problem"]
        self._blocks += blocks
        self._columns["id"] += batch["id"].to_pylist()
        self._columns["question"] += below(problem, "question").to_pylist()
        self._columns["turns"] += pc.list_value_length(batch["turns"]).to_pylist()
        singles = (
            below(problem, "topic"),
            students(batch),
            named(batch["ending"], "ENDING_"),
            named(batch["resolution"], "RESOLUTION_"),
        )
        for kept, values in zip(self._single.values(), singles, strict=True):
            kept.codes += [kept.place(value or "none") or 0 for value in values.to_pylist()]
        for kept, marked in zip(
            self._several.values(), (_outcomes(batch), _mistakes(batch), _programs(batch)), strict=True
        ):
            bits = np.zeros(len(batch), np.int64)
            for value, rows in marked:
                if (place := kept.place(value)) is not None:
                    bits[np.asarray(rows)] |= 1 << place
            kept.codes += bits.tolist()

    @property
    def rows(self) -> int:
        return len(self._columns["id"])

    @property
    def blocks(self) -> int:
        return len(self._blocks)

    def as_json(self) -> dict[str, Any]:
        filters = {**self._several, **self._single}
        told = {
            name: {"values": kept.values, "codes": kept.codes, "several": kept.several}
            for name, kept in filters.items()
        }
        return {**self._columns, "blocks": self._blocks, "filters": told}


def _outcomes(batch: pa.RecordBatch) -> Marked:
    """Each value with the rows that have it."""
    everyone = np.arange(len(batch))
    if "reasons" not in batch.schema.names:
        yield KEPT, everyone
        return
    yield REJECTED, everyone
    yield from _marked(pc.list_parent_indices(batch["reasons"]), kinds_of_reasons(pc.list_flatten(batch["reasons"])))


def _mistakes(batch: pa.RecordBatch) -> Marked:
    turns = pc.list_flatten(batch["turns"])
    drawn = named(below(turns, "student", "strategy"), "ERROR_STRATEGY_")
    of = pc.list_parent_indices(batch["turns"])
    yield "none", np.setdiff1d(np.arange(len(batch)), np.asarray(of.filter(drawn.is_valid())))
    yield from _marked(of, drawn)


def _programs(batch: pa.RecordBatch) -> Marked:
    turns = pc.list_flatten(batch["turns"])
    calculation = below(turns, "calculation")
    of = np.asarray(pc.list_parent_indices(batch["turns"]))
    used = of[np.asarray(calculation.is_valid())]
    yield "none", np.setdiff1d(np.arange(len(batch)), used)
    yield "some", used
    attempts = pc.struct_field(calculation, "attempts")
    status = named(below(attempts.flatten(), "execution", "status"), "STATUS_")
    failed = np.asarray(pc.fill_null(pc.not_equal(status, "ok"), True))
    yield "one that failed", of[np.asarray(pc.list_parent_indices(attempts))[failed]]


def _marked(rows: pa.Array, values: pa.Array) -> Marked:
    for value in sorted(value_counts(values)):
        yield value, rows.filter(pc.equal(values, value))
