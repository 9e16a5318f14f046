"""Nested columns of rows: the values below a path, and how often each occurs."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def below(array: pa.Array, *path: str) -> pa.Array:
    """The values of a field, through structs and lists; what lies in an unset message is null, in a list flat."""
    for name in path:
        array = pc.struct_field(array, name)
        if pa.types.is_list(array.type):
            array = pc.list_flatten(array)
    return array


def occurring(*columns: pa.Array) -> Counter[Any]:
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
