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


def occurring(*arrays: pa.Array) -> Counter[Any]:
    """How often each value occurs, or each tuple of values where there are several columns; nulls do not count."""
    names = [str(number) for number in range(len(arrays))]
    table = pa.Table.from_arrays(list(arrays), names=names).drop_null()
    counted = table.group_by(names).aggregate([([], "count_all")])
    *columns, counts = (column.to_pylist() for column in counted.select([*names, "count_all"]).columns)
    keys = columns[0] if len(arrays) == 1 else zip(*columns, strict=True)
    return Counter(dict(zip(keys, counts, strict=True)))


def named(array: pa.Array, prefix: str) -> pa.Array:
    """Enums as people read them: ENDING_TURN_LIMIT as "turn limit"; null where nothing was set."""
    coded = array.dictionary_encode()
    words = [name.removeprefix(prefix).lower().replace("_", " ") for name in coded.dictionary.to_pylist()]
    return pa.array([None if word == "unspecified" else word for word in words], pa.string()).take(coded.indices)
