"""Reads the labels of rows by their descriptors, so that no list of a recipe's fields stands anywhere else."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import FieldDescriptor

from soliloquy.dataset.columns import below, named, word
from soliloquy.dataset.rows import recipe_of
from soliloquy.recipes.labels import Column, columns_of, labels_of, row_path, value_prefix
from soliloquy.recipes.packages import DEFAULT, known_recipes
from soliloquy.recipes.recipe import Recipe, find


@cache
def installed(recipe: str) -> Recipe | None:
    """Returns the recipe of a dataset's rows; None if it is not installed."""
    return find(recipe or DEFAULT) if (recipe or DEFAULT) in known_recipes() else None


def title_of(recipe: str, name: str) -> str:
    column = columns_of(recipe).get(name)
    return column.title if column else name.partition(".")[2].replace(".", " ").replace("_", " ")


def label_values(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Array]]:
    """Yields the values of each enum, whole number and flag of the labels as words; unset values are null."""
    for name, field in labels_of(recipe_of(batch)).fields():
        if (column := label_column(batch, name)) is not None and (words := _in_words(column, field)) is not None:
            yield name, words


def described_labels(batch: pa.RecordBatch) -> Iterator[tuple[Column, pa.Array]]:
    """Yields the values of the labels that the recipe has words for, with these words."""
    columns = columns_of(recipe_of(batch))
    return ((columns[name], values) for name, values in label_values(batch) if name in columns)


def label_texts(batch: pa.RecordBatch, name: str, template: str) -> Iterator[str]:
    """Yields for each conversation a text, or a line for each message of a list; empty if there is none."""
    field = dict(labels_of(recipe_of(batch)).fields()).get(name)
    first, *path = row_path(name).split(".")
    for cell in pc.struct_field(batch[first], path).to_pylist():
        items = cell if isinstance(cell, list) else [cell] if cell else []
        yield "\n".join(
            template.format(item, number=number, **_message_in_words(item, field)).rstrip(": ")
            for number, item in enumerate(items, start=1)
        )


def _message_in_words(item: Any, field: FieldDescriptor | None) -> dict[str, Any]:
    if field is None or field.message_type is None:
        return {}
    assert isinstance(item, dict)
    words = {one.name: word(item[one.name], value_prefix(one)) for one in field.message_type.fields if one.enum_type}
    return item | words


def label_column(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """Returns the values of a field for each conversation, turn or item of a list; None if it was not read."""
    first, *path = row_path(name).split(".")
    array = batch[first]
    if pa.types.is_list(array.type):
        array = pc.list_flatten(array)
    for part in path:
        if array.type.get_field_index(part) < 0:
            return None
        array = below(array, part)
    return array


def _in_words(column: pa.Array, field: FieldDescriptor) -> pa.Array | None:
    """Returns None for texts, fractions and messages, which have no values to count."""
    if field.enum_type is not None:
        return named(column, value_prefix(field))
    if pa.types.is_integer(column.type):
        return pc.if_else(pc.not_equal(column, 0), column.cast(pa.string()), None)
    if pa.types.is_boolean(column.type):
        return pc.if_else(column, "yes", "no")
    return None
