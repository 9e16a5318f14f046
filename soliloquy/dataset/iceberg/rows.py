"""Converts rows of one recipe to rows of the table, which has the columns of all recipes, and back."""

from collections.abc import Callable, Container, Sequence
from typing import Any

import pyarrow as pa

from soliloquy.dataset.layout import ACCEPTED, REJECTED
from soliloquy.dataset.rows import REASONS, messages, recipe_named, rows, schema
from soliloquy.v1.dataset_pb2 import Collected

# A partition of the table holds the conversations about this many problems of a run.
BUCKET_ORDINALS = 4096
PARTITIONED_BY = ("dataset", "kind", "bucket")
# The kind of what is left of a conversation that was removed for good.
FORGOTTEN = "forgotten"
_LABELS = "labels"
# When the conversation was collected, in seconds since 1970; imported conversations have no times.
COLLECTED_AT = pa.field("collected_at", pa.float64())
# The digests of the services that touched it.
SERVICES = pa.field("services", pa.list_(pa.string()))
_NOTED = (REASONS.name, COLLECTED_AT.name, SERVICES.name)
_OWN = (
    pa.field("dataset", pa.string()),
    pa.field("kind", pa.string()),
    pa.field("bucket", pa.int32()),
    # The sequence number of the commit that brought the row, once the row has moved to another file.
    pa.field("arrival", pa.int64()),
    REASONS,
    COLLECTED_AT,
    SERVICES,
    # The position of its event.
    pa.field("origin", pa.struct([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])),
)
_ORIGIN = _OWN[-1].type


def table_schema(recipe: str) -> pa.Schema:
    """Returns the columns of the table that rows of this recipe fill; a schema only grows, so each may be null."""
    return pa.schema(list(_stored(pa.struct([*_OWN[:4], *schema(recipe), *_OWN[4:]]), recipe)))


def table_rows(dataset: str, group: Sequence[Collected], kind: pa.Schema) -> pa.RecordBatch:
    """Returns the rows of conversations of one recipe; `kind` is a table_schema, with or without ids."""
    recipe = group[0].recipe
    grown = rows((one.conversation for one in group), recipe)
    columns = {
        **dict(zip(grown.schema.names, grown.columns, strict=True)),
        "dataset": pa.array([dataset] * len(group)),
        "kind": pa.array([REJECTED if one.reasons else ACCEPTED for one in group]),
        "bucket": pa.array([one.ordinal // BUCKET_ORDINALS for one in group], pa.int32()),
        REASONS.name: pa.array([list(one.reasons) for one in group], REASONS.type),
        COLLECTED_AT.name: pa.array([one.timings.collected_at if one.HasField("timings") else None for one in group]),
        SERVICES.name: pa.array([list(one.timings.services) for one in group], SERVICES.type),
        "origin": pa.array([_place(one) for one in group], _ORIGIN),
    }
    found = pa.StructArray.from_arrays(list(columns.values()), list(columns))
    fitted = _fitted(found, pa.struct(list(kind)), lambda labels: _kept_apart(labels, recipe))
    return pa.RecordBatch.from_struct_array(fitted)


def recipe_rows(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    """Returns rows of the table as rows of the recipe that `wanted` names, which may be some of its columns."""
    recipe, stored = recipe_named(wanted), batch.to_struct_array()
    kind = pa.struct(list(wanted))

    def own(labels: pa.StructArray) -> pa.StructArray:
        known = labels.type.get_field_index(recipe) >= 0
        return labels.field(recipe) if known else pa.nulls(len(labels), pa.struct([]))

    try:
        fitted = _fitted(stored, kind, own)
    except _Lacking:
        earlier = pa.RecordBatch.from_struct_array(_fitted(stored, _nullable(kind), own))
        kept = [name for name in wanted.names if name not in _NOTED]
        filled = rows(messages(earlier.select(kept).replace_schema_metadata(wanted.metadata)), recipe)
        for name in set(wanted.names) - set(kept):
            filled = filled.append_column(wanted.field(name), earlier[name].cast(wanted.field(name).type))
        fitted = _fitted(filled.to_struct_array(), kind)
    return pa.RecordBatch.from_struct_array(fitted).replace_schema_metadata(wanted.metadata)


def leaves(columns: pa.Schema | pa.StructType, above: str = "") -> list[str]:
    """Returns the paths of all columns that hold values, without lists: `turns.student.text`."""
    found = []
    for field in columns:
        kind = field.type.value_type if pa.types.is_list(field.type) else field.type
        path = f"{above}{field.name}"
        found += leaves(kind, f"{path}.") if pa.types.is_struct(kind) else [path]
    return found


def pruned(columns: pa.Schema, paths: Container[str]) -> pa.Schema:
    """Returns the schema with nothing but these columns that hold values."""
    return pa.schema(filter(None, (_pruned(field, paths, field.name) for field in columns)), columns.metadata)


class _Lacking(Exception):
    """The rows lack a field that the contract has had since they were written."""


def _place(collected: Collected) -> dict[str, Any] | None:
    if not collected.HasField("origin"):
        return None
    return {field.name: getattr(collected.origin, field.name) for field in _ORIGIN}


def _stored(kind: pa.DataType, recipe: str) -> pa.DataType:
    """Returns the type in the table: Iceberg has no unsigned numbers, and each recipe has labels of its own."""
    if pa.types.is_struct(kind):
        fields = {field.name: _stored(field.type, recipe) for field in kind}
        if _LABELS in fields:
            fields[_LABELS] = pa.struct([(recipe, fields[_LABELS])])
        return pa.struct(list(fields.items()))
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _stored(kind.value_type, recipe)))
    return {pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20)}.get(kind, kind)


def _pruned(field: pa.Field, paths: Container[str], path: str) -> pa.Field | None:
    is_list = pa.types.is_list(field.type)
    held = field.type.value_type if is_list else field.type
    if not pa.types.is_struct(held):
        return field if path in paths else None
    left = [child for one in held if (child := _pruned(one, paths, f"{path}.{one.name}"))]
    kind = pa.struct(left)
    return field.with_type(pa.list_(field.type.value_field.with_type(kind)) if is_list else kind) if left else None


def _nullable(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _nullable(field.type)) for field in kind])
    return pa.list_(_nullable(kind.value_type)) if pa.types.is_list(kind) else kind


def _kept_apart(labels: pa.StructArray, recipe: str) -> pa.StructArray:
    return pa.StructArray.from_arrays([labels], [recipe], mask=labels.is_null())


def _fitted(
    array: pa.Array, kind: pa.DataType, own: Callable[[pa.StructArray], pa.StructArray] = lambda labels: labels
) -> pa.Array:
    """Returns the array as another type, field by name; raises _Lacking where a value is required and there is none."""
    if pa.types.is_struct(kind):
        children = []
        for field in kind:
            if array.type.get_field_index(field.name) < 0:
                child = pa.nulls(len(array), field.type)
            else:
                child = array.field(field.name)
                child = _fitted(own(child) if field.name == _LABELS else child, field.type, own)
            if not field.nullable and child.null_count > array.null_count:
                raise _Lacking
            children.append(child)
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(array.offsets, _fitted(array.values, kind.value_type, own), type=kind)
    return array.cast(kind)
