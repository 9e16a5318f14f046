"""Converts protobuf messages to Arrow rows, field by field, and back to the same bytes.

The labels of a recipe are typed columns; a recipe that is not installed has rows without labels.
"""

import functools
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa

from soliloquy.dataset.contract import inlined, labelled, row_handler
from soliloquy.dataset.earlier import upgraded
from soliloquy.recipes.labels import Labels, labels_of
from soliloquy.recipes.packages import DEFAULT

_REQUIRED = ["id", "run", "problem", "turns"]
# The key under which the metadata of a schema names the recipe of its rows.
RECIPE = b"recipe"
# Why a conversation was rejected; only rejected shards have the column.
REASONS = pa.field("reasons", pa.list_(pa.string()))
_TIMINGS = row_handler(labelled(Labels()), "Timings")
TIMINGS: pa.Schema = _TIMINGS.list_to_record_batch([]).schema


class _Rows(NamedTuple):
    handler: Any
    schema: pa.Schema


def schema(recipe: str) -> pa.Schema:
    """Returns the columns of a recipe's conversations; an enum is its name in the contract."""
    return _rows(recipe or DEFAULT).schema


def rows(serialised: Iterable[bytes], recipe: str) -> pa.RecordBatch:
    """Returns a row for each serialised Conversation of the recipe."""
    handler, kind = _rows(recipe or DEFAULT)
    return handler.list_to_record_batch(list(serialised)).replace_schema_metadata(kind.metadata)


def completed(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yields the rows of each recipe with the columns that an earlier contract lacked.

    Raises KeyError for rows that are no conversations.
    """
    if "collected_at" in batch.schema.names:
        yield _TIMINGS.list_to_record_batch(serialised_timings(batch))
        return
    batch.select(_REQUIRED)
    for part in by_recipe(batch):
        recipe = recipe_of(part)
        complete = rows(messages(part) if recipe_named(part.schema) else _upgraded(part, recipe), recipe)
        has_reasons = REASONS.name in part.schema.names
        yield complete.append_column(REASONS, part[REASONS.name]) if has_reasons else complete


def by_recipe(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yields the successive rows of one recipe each."""
    if recipe_named(batch.schema) or "run" not in batch.schema.names:
        yield batch
        return
    start = 0
    for _, alike in groupby((run or {}).get("recipe") or DEFAULT for run in batch["run"].to_pylist()):
        rows = len(list(alike))
        yield batch.slice(start, rows)
        start += rows


def messages(batch: pa.RecordBatch) -> list[bytes]:
    """Returns the serialised Conversation of each row."""
    serialised: list[bytes] = _rows(recipe_of(batch)).handler.record_batch_to_array(batch).to_pylist()
    return serialised


def serialised_timings(batch: pa.RecordBatch) -> list[bytes]:
    """Returns the serialised Timings of each row."""
    serialised: list[bytes] = _TIMINGS.record_batch_to_array(batch).to_pylist()
    return serialised


def recipe_named(schema: pa.Schema) -> str:
    """Returns the recipe of all rows with this schema; empty until 0.2, when only a column named it."""
    return str((schema.metadata or {}).get(RECIPE, b"").decode())


def recipe_of(batch: pa.RecordBatch) -> str:
    if named := recipe_named(batch.schema):
        return named
    runs = batch["run"].to_pylist() if "run" in batch.schema.names else []
    return next((run["recipe"] for run in runs if run and run["recipe"]), DEFAULT)


def _upgraded(batch: pa.RecordBatch, recipe: str) -> list[bytes]:
    unlabelled = row_handler(inlined(labels_of(recipe)), "Conversation").record_batch_to_array(batch)
    return [upgraded(message, labels_of(recipe)) for message in unlabelled.to_pylist()]


@functools.cache
def _rows(recipe: str) -> _Rows:
    handler = row_handler(labelled(labels_of(recipe)), "Conversation")
    return _Rows(handler, handler.list_to_record_batch([]).schema.with_metadata({RECIPE: recipe}))
