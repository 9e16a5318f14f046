"""Nested columns of rows: the values below a path, and how often each occurs."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Who answered a call.
ANSWERED_BY = ("role", "engine", "model", "adapter_digest")
_USED = ("prompt_tokens", "completion_tokens")


def below(array: pa.Array, *path: str) -> pa.Array:
    """The values of a field, through structs and lists; what lies in an unset message is null, in a list flat."""
    for name in path:
        array = pc.struct_field(array, name)
        if pa.types.is_list(array.type):
            array = pc.list_flatten(array)
    return array


def value_counts(*columns: pa.Array) -> Counter[Any]:
    """How often each value occurs, or each tuple of values where there are several columns; nulls do not count."""
    if len(columns) == 1:
        counted = pc.value_counts(columns[0].drop_null())
        return Counter(dict(zip(*(counted.field(place).to_pylist() for place in range(2)), strict=True)))
    names = [str(number) for number in range(len(columns))]
    table = pa.table(list(columns), names=names).drop_null()
    # A thread of Arrow's own takes longer to begin than a batch to count.
    grouped = table.group_by(names, use_threads=False).aggregate([([], "count_all")])
    *keys, counts = (grouped[name].to_pylist() for name in [*names, "count_all"])
    return Counter(dict(zip(zip(*keys, strict=True), counts, strict=True)))


def call_counts(calls: pa.Array) -> list[dict[str, Any]]:
    """A row for each of those who answered and each outcome: how many `calls`, and their tokens."""
    keys = [*ANSWERED_BY, "outcome"]
    table = pa.table({name: below(calls, name) for name in (*keys, *_USED)})
    found = table.group_by(keys, use_threads=False).aggregate([([], "count_all"), *((name, "sum") for name in _USED)])
    rows: list[dict[str, Any]] = found.rename_columns([*keys, "calls", "prompt", "completion"]).to_pylist()
    return rows


def verdicts(calculations: pa.Array) -> pa.Array:
    """What the last program of each found of the student's number: the one boolean among its values, if there is one.

    It is "right" or "wrong", and null where there is none.
    """
    attempts = pc.struct_field(calculations, "attempts")
    executions = below(attempts.flatten(), "execution")
    values = pc.struct_field(executions, "values")
    booleans = below(values.flatten(), "value", "boolean")
    of = np.asarray(pc.list_parent_indices(values).filter(booleans.is_valid()))
    several = np.bincount(of, minlength=len(executions))
    true = np.bincount(of, np.asarray(booleans.drop_null(), dtype=float), minlength=len(executions))
    ran = pc.equal(pc.struct_field(executions, "status"), "STATUS_OK")
    single = pc.fill_null(pc.and_(ran, pa.array(several == 1)), False)
    tries = np.asarray(pc.list_value_length(attempts).fill_null(0))
    last = pa.array(np.cumsum(tries) - 1, pa.int64(), mask=tries == 0)
    return pc.if_else(single, pc.if_else(pa.array(true > 0), "right", "wrong"), None).take(last)


def students(batch: pa.RecordBatch) -> pa.Array:
    """Who the student of each row is: its persona, or a person."""
    return pc.if_else(batch["person"], "a person", batch["persona"])


def named(array: pa.Array, prefix: str) -> pa.Array:
    """Enums as people read them: ENDING_TURN_LIMIT as "turn limit"; null where nothing was set."""
    coded = array.dictionary_encode()
    words = [word(name, prefix) for name in coded.dictionary.to_pylist()]
    return pa.array([None if name == "unspecified" else name for name in words], pa.string()).take(coded.indices)


def word(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower().replace("_", " ")
