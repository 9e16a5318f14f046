"""Casts Arrow arrays to a type: adds missing fields as unset, and clears the values hidden under nulls."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def completed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Returns the batch with all columns of the schema, such that equal rows have equal bytes."""
    present = dict(zip(batch.schema.names, batch.columns, strict=True))
    arrays = [_completed(present.get(field.name), field, batch.num_rows) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _completed(array: pa.Array | None, field: pa.Field, length: int) -> pa.Array:
    if array is None:
        return _unset(field, length)
    nulls = array.is_null() if field.nullable and array.null_count else None
    if pa.types.is_struct(field.type):
        children = [_completed(_child(array, child.name), child, len(array)) for child in field.type]
        return pa.StructArray.from_arrays(children, fields=list(field.type), mask=nulls)
    if pa.types.is_list(field.type):
        ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(array), 0))
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends.cast(pa.int32())])
        values = pc.list_flatten(array)
        within = _completed(values, field.type.value_field, len(values))
        return pa.ListArray.from_arrays(offsets, within, type=field.type, mask=nulls)
    if not array.null_count:
        return array.cast(field.type)
    filled = array.cast(field.type).fill_null(_empty(field.type))
    if nulls is None:
        return filled
    if pa.types.is_primitive(field.type):
        mask = nulls.to_numpy(zero_copy_only=False)
        return pa.array(filled.to_numpy(zero_copy_only=False), field.type, mask=mask)
    return array.cast(field.type)


def _child(array: pa.Array, name: str) -> pa.Array | None:
    return None if array.type.get_field_index(name) < 0 else pc.struct_field(array, name)


def _unset(field: pa.Field, length: int) -> pa.Array:
    if field.nullable:
        return pa.nulls(length, field.type)
    if pa.types.is_struct(field.type):
        return pa.StructArray.from_arrays([_unset(child, length) for child in field.type], fields=list(field.type))
    return pa.array([_empty(field.type)] * length, field.type)


def _empty(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        return []
    if pa.types.is_boolean(kind):
        return False
    return "" if pa.types.is_string(kind) else b"" if pa.types.is_binary(kind) else 0
