"""The part of every conversation that the page lists, filters and searches without unpacking a block."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.columns import below, named, students, value_counts
from soliloquy.dataset.labelling import label_values
from soliloquy.dataset.rows import recipe_of
from soliloquy.dataset.statistics import kinds_of_reasons
from soliloquy.recipes.labels import columns_of

# A facet with several values for one conversation stores them as bits, and JavaScript shifts 32 bits.
_MOST_BITS = 30
ACCEPTED, REJECTED = "accepted", "rejected"

ValueRows = Iterator[tuple[str, pa.Array]]


@dataclass(kw_only=True)
class Facet:
    # The values in the order of their first occurrence; each conversation has the index of one, or the bits of several.
    values: list[str] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    several: bool = False

    def number(self, value: str) -> int | None:
        if value not in self.values:
            if self.several and len(self.values) == _MOST_BITS:
                return None
            self.values.append(value)
        return self.values.index(value)


class ReportIndex:
    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {"id": [], "question": [], "turns": []}
        self._blocks: list[int] = []
        # The first accepted row of each problem and of each place in the run, and its row for a rejected one.
        self._accepted: dict[tuple[str, int | None], int] = {}
        self._pairs: dict[int, int] = {}
        self._facets = {name: Facet(several=True) for name in ("outcome", "drawn", "program")}
        self._facets |= {name: Facet() for name in ("topic", "student", "ending", "resolution")}

    def add(self, batch: pa.RecordBatch, blocks: Sequence[int]) -> None:
        """Adds rows; `blocks` is the number of rows in each of their blocks."""
        problem = batch["problem"]
        self._add_pairs(batch)
        self._blocks += blocks
        self._columns["id"] += batch["id"].to_pylist()
        self._columns["question"] += below(problem, "question").to_pylist()
        self._columns["turns"] += pc.list_value_length(batch["turns"]).to_pylist()
        single = {
            "topic": below(problem, "topic"),
            "student": students(batch),
            "ending": named(batch["ending"], "ENDING_"),
            "resolution": named(batch["resolution"], "RESOLUTION_"),
        }
        for name, values in single.items():
            facet = self._facets[name]
            facet.codes += [facet.number(value or "none") or 0 for value in values.to_pylist()]
        several = {"outcome": _outcomes(batch), "drawn": _drawn(batch), "program": _programs(batch)}
        for name, value_rows in several.items():
            facet, bits = self._facets[name], np.zeros(len(batch), np.int64)
            for value, rows in value_rows:
                if (number := facet.number(value)) is not None:
                    bits[np.asarray(rows)] |= 1 << number
            facet.codes += bits.tolist()

    def _add_pairs(self, batch: pa.RecordBatch) -> None:
        """Pairs rejected rows with accepted ones, which come first: another attempt, or else the same problem."""
        rejected = "reasons" in batch.schema.names
        for row, (problem, ordinal) in enumerate(
            zip(problems(batch), batch["ordinal"].to_pylist(), strict=True), self.rows
        ):
            if not rejected:
                self._accepted.setdefault((problem, ordinal), row)
                self._accepted.setdefault((problem, None), row)
            elif (other := self._accepted.get((problem, ordinal), self._accepted.get((problem, None)))) is not None:
                self._pairs[row] = other

    @property
    def rows(self) -> int:
        return len(self._columns["id"])

    @property
    def blocks(self) -> int:
        return len(self._blocks)

    def as_json(self) -> dict[str, Any]:
        facets = {name: vars(facet) for name, facet in self._facets.items()}
        return {**self._columns, "blocks": self._blocks, "filters": facets, "pairs": self._pairs}


def problems(batch: pa.RecordBatch) -> list[str]:
    """Returns the problem's id, or the question of one without an id, for each row."""
    ids, questions = (below(batch["problem"], name) for name in ("id", "question"))
    found: list[str] = pc.if_else(pc.equal(ids, ""), questions, ids).to_pylist()
    return found


def _outcomes(batch: pa.RecordBatch) -> ValueRows:
    """Yields each value with the rows that have it."""
    all_rows = np.arange(len(batch))
    if "reasons" not in batch.schema.names:
        yield ACCEPTED, all_rows
        return
    yield REJECTED, all_rows
    yield from _rows_by_value(
        pc.list_parent_indices(batch["reasons"]), kinds_of_reasons(pc.list_flatten(batch["reasons"]))
    )


def _drawn(batch: pa.RecordBatch) -> ValueRows:
    """Yields the draws for the student's messages, by the labels that describe them."""
    of = pc.list_parent_indices(batch["turns"])
    columns = columns_of(recipe_of(batch))
    drawn = [values for name, values in label_values(batch) if name in columns and columns[name].drawn]
    said = [np.asarray(of.filter(values.is_valid())) for values in drawn]
    yield "none", np.setdiff1d(np.arange(len(batch)), np.concatenate(said) if said else np.array([], np.int64))
    for values in drawn:
        yield from _rows_by_value(of, values)


def _programs(batch: pa.RecordBatch) -> ValueRows:
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


def _rows_by_value(rows: pa.Array, values: pa.Array) -> ValueRows:
    for value in sorted(value_counts(values)):
        yield value, rows.filter(pc.equal(values, value))
