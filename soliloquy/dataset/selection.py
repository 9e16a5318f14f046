"""Selects columns by their paths and rows by conditions, wherever a dataset is stored."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from soliloquy.runtime.failure import Failure

_COMPARISONS = ("==", "!=", "<", ">", "<=", ">=", "in", "not in")
# Parquet's names of what a list holds; the path of a column is without them.
LIST = re.compile(r"\.list\.(element|item)\b")
# Conditions that must all hold: a column, a comparison, and a value, for `in` and `not in` a list of values.
Filter = Sequence[tuple[str, str, Any]]


class NoDataset(Failure):
    """There is no readable dataset; the message says why and what to do."""


class MissingDataset(NoDataset):
    """There is no dataset yet; a run may still write it."""


def condition(where: Filter, schema: pa.Schema) -> pc.Expression | None:
    """Raises NoDataset for a condition that no row of this schema can be asked."""
    for name, comparison, value in where:
        if comparison not in _COMPARISONS:
            raise NoDataset(f"unknown comparison {comparison!r} of {name!r}: use one of {', '.join(_COMPARISONS)}")
        kind = _type_of(name, schema)
        try:
            if kind is not None:
                schema.empty_table().filter(_expression([(name, comparison, value)]))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            held = "further columns" if pa.types.is_struct(kind) else kind
            raise NoDataset(f"{name!r} holds {held}, not {value!r}") from error
    return _expression(where) if where else None


def _expression(where: Filter) -> pc.Expression:
    return pq.filters_to_expression([[(tuple(name.split(".")), *rest) for name, *rest in where]])


def _type_of(name: str, schema: pa.Schema) -> pa.DataType | None:
    """Returns the type of a column; None if there is no such column. Raises NoDataset for a list."""
    within: pa.Schema | pa.StructType = schema
    kind = None
    for part in name.split("."):
        kind = within.field(part).type if within.get_field_index(part) >= 0 else None
        if kind is not None and pa.types.is_list(kind):
            raise NoDataset(f"{name!r} is a list: filter by a column with one value for each conversation")
        within = kind if kind is not None and pa.types.is_struct(kind) else pa.struct([])
    return kind


def selected(paths: Mapping[str, str], wanted: Sequence[str] | None, without: Sequence[str]) -> list[str]:
    """Returns the keys of the wanted paths, or of all except those `without`; raises NoDataset for an unknown one."""
    if wanted is None:
        return [key for key, path in paths.items() if not any(_is_below(path, name) for name in without)]
    found = []
    for name in wanted:
        below = [key for key, path in paths.items() if _is_below(path, name)]
        # Each recipe has labels of its own.
        if not below and "labels" not in name.split("."):
            raise NoDataset(f"{name!r} is not a column of a conversation: see the contract")
        found += below
    return found


def _is_below(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}.")
