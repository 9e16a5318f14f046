"""Reads nested columns of rows, and counts their values."""

from collections import Counter
from typing import Any

import pyarrow.compute as pc

from soliloquy.dataset.enrichments import CountedEnrichments
from soliloquy.runtime.arrow import pa
from soliloquy.runtime.model.costs import COST, KINDS

# The columns that identify who answered a model call.
ANSWERED_BY = ("role", "engine", "model", "adapter_digest")
_COUNTS = {**{kind: f"{kind}_tokens" for kind in KINDS}, COST: COST}


def below(array: pa.Array, *path: str) -> pa.Array:
    """Returns the values at a path; lists are flattened, and the fields of unset messages are null."""
    for name in path:
        array = pc.struct_field(array, name)
        if pa.types.is_list(array.type):
            array = pc.list_flatten(array)
    return array


def value_counts(*columns: pa.Array) -> Counter[Any]:
    """Counts each value, or with several columns each tuple of values; nulls do not count."""
    if len(columns) == 1:
        counted = pc.value_counts(columns[0].drop_null())
        return Counter(dict(zip(*(counted.field(place).to_pylist() for place in range(2)), strict=True)))
    names = [str(number) for number in range(len(columns))]
    table = pa.table(list(columns), names=names).drop_null()
    # Without threads: counting a batch takes less time than starting one.
    grouped = table.group_by(names, use_threads=False).aggregate([([], "count_all")])
    *keys, counts = (grouped[name].to_pylist() for name in [*names, "count_all"])
    return Counter(dict(zip(zip(*keys, strict=True), counts, strict=True)))


def call_counts(calls: pa.Array) -> list[dict[str, Any]]:
    """Returns the number of `calls` and their tokens for each answerer, endpoint and outcome."""
    keys = [*ANSWERED_BY, "endpoint", "outcome"]
    # Rows of an earlier version lack some counts.
    counts = {kind: name for kind, name in _COUNTS.items() if calls.type.get_field_index(name) >= 0}
    table = pa.table({name: below(calls, name) for name in (*keys, *counts.values())})
    sums = [(name, "sum") for name in counts.values()]
    found = table.group_by(keys, use_threads=False).aggregate([([], "count_all"), *sums])
    rows: list[dict[str, Any]] = found.rename_columns([*keys, "calls", *counts]).to_pylist()
    return [dict.fromkeys(_COUNTS, 0) | row for row in rows]


def uncounted_enrichments(problems: pa.Array, counted: CountedEnrichments) -> pa.Array:
    """Returns the enrichments of these problems that are still to be counted."""
    enrichments = pc.struct_field(problems, "enrichment")
    enriched = pc.if_else(enrichments.is_valid(), below(problems, "id"), None)
    first = [problem is None or counted.is_first(problem) for problem in enriched.to_pylist()]
    return enrichments if all(first) else enrichments.filter(pa.array(first))


def problems(batch: pa.RecordBatch) -> pa.Array:
    """Returns the problem of each row: its id, or the question of one without an id."""
    ids, questions = (below(batch["problem"], name) for name in ("id", "question"))
    return pc.if_else(pc.equal(ids, ""), questions, ids)


def students(batch: pa.RecordBatch) -> pa.Array:
    """Returns the student of each row: its persona, or "a person"."""
    return pc.if_else(batch["person"], "a person", batch["persona"])


def named(array: pa.Array, prefix: str) -> pa.Array:
    """Returns enum names as words: ENDING_TURN_LIMIT as "turn limit"; unset values as null."""
    coded = array.dictionary_encode()
    words = [word(name, prefix) for name in coded.dictionary.to_pylist()]
    return pa.array([None if name == "unspecified" else name for name in words], pa.string()).take(coded.indices)


def word(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower().replace("_", " ")
