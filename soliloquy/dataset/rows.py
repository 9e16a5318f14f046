"""Converts protobuf messages to Arrow rows, field by field, and back to the same bytes.

The labels of a recipe are typed columns; a recipe that is not installed has rows without labels."""

import functools
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from soliloquy.dataset.contract import EARLIER_REJECTED, inlined, labelled, row_handler
from soliloquy.dataset.layout import ACCEPTED, REJECTED, TIMED
from soliloquy.recipes.labels import Labelled, Labels, labels_of, places
from soliloquy.recipes.packages import DEFAULT
from soliloquy.runtime.arrow import pa
from soliloquy.v1.conversation_pb2 import Conversation, RejectedTry, Turn
from soliloquy.v1.dataset_pb2 import Timings


def upgraded(serialised: bytes, labels: Labels) -> bytes:
    """Moves the fields that left the contract into the labels; they have kept their numbers."""
    conversation = Conversation.FromString(serialised)
    for turn in conversation.turns:
        _move_tries(turn)
    found = [(one, _read(one, getattr(labels, place))) for place, one in places(conversation)]
    conversation.DiscardUnknownFields()
    for one, read in found:
        one.labels = read
    return conversation.SerializeToString()


def _move_tries(turn: Turn) -> None:
    """Each call of the student's was a try, and a single rule sent them back."""
    asked = [place for place, call in enumerate(turn.calls) if call.role == "student"]
    unknown = UnknownFieldSet(turn.student)
    fields = [unknown[place] for place in range(len(unknown))]
    tries = [field.data for field in fields if field.field_number == EARLIER_REJECTED]
    for number, stored in enumerate(tries):
        moved = turn.rejected.add(role="student", rule="state", calls=asked[number : number + 1])
        moved.prompt = next((turn.calls[place].prompt for place in moved.calls), "")
        moved.MergeFrom(RejectedTry.FromString(stored))


def _read(one: Labelled, kind: type[Message] | None) -> bytes:
    if kind is None:
        return b""
    read = kind.FromString(one.SerializeToString())
    one.DESCRIPTOR.CopyToProto(described := DescriptorProto())
    moved = {number for span in described.reserved_range for number in range(span.start, span.end)}
    for field in read.DESCRIPTOR.fields:
        if field.number not in moved:
            read.ClearField(field.name)
    read.DiscardUnknownFields()
    return read.SerializeToString()


# The key under which the metadata of a schema names the recipe of its rows.
RECIPE = b"recipe"
# Why a conversation was rejected; only rejected shards have the column.
REASONS = pa.field("reasons", pa.list_(pa.string()))
_TIMINGS = row_handler(labelled(Labels()), "Timings")
TIMINGS: pa.Schema = _TIMINGS.list_to_record_batch([]).schema
# The columns that shards of a kind have under every contract.
_ACCEPTED = ["id", "run", "ordinal", "attempt", "problem", "turns", "ending", "ending_reason"]
_REQUIRED = {ACCEPTED: _ACCEPTED, REJECTED: [*_ACCEPTED, REASONS.name], TIMED: ["id", "collected_at"]}


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


class NotRows(ValueError):
    """A file holds other columns than a dataset's."""


def is_complete(stored: pa.Schema, kind: str) -> bool:
    """Whether a shard of this kind has the columns of the contract and no others."""
    return bool(stored.equals(_wanted(stored, kind)))


def completed(batch: pa.RecordBatch, kind: str) -> Iterator[pa.RecordBatch]:
    """Yields the rows of each recipe with the columns that an earlier contract lacked; whole rows as they are.

    Raises NotRows for rows that shards of this kind never hold.
    """
    if is_complete(batch.schema, kind):
        yield batch
        return
    _require_columns(batch.schema, _wanted(batch.schema, kind), _REQUIRED[kind])
    if kind == TIMED:
        yield _TIMINGS.list_to_record_batch(serialised_timings(batch))
        return
    for part in by_recipe(batch):
        recipe = recipe_of(part)
        complete = rows(messages(part) if recipe_named(part.schema) else _upgraded(part, recipe), recipe)
        yield complete.append_column(REASONS, part[REASONS.name]) if kind == REJECTED else complete


def _wanted(stored: pa.Schema, kind: str) -> pa.Schema:
    if kind == TIMED:
        return TIMINGS
    wanted = schema(recipe_named(stored))
    return wanted.append(REASONS) if kind == REJECTED else wanted


def _require_columns(stored: pa.Schema, wanted: pa.Schema, required: Iterable[str]) -> None:
    for name in required:
        if name not in stored.names:
            raise NotRows(f"it has no column {name!r}")
    for field in stored:
        if stored.names.count(field.name) > 1:
            raise NotRows(f"it has two columns {field.name!r}")
        if field.name in wanted.names and (unfit := _unfit(field.name, field.type, wanted.field(field.name).type)):
            raise NotRows(f"{unfit} is of another type than in the contract")


def _unfit(path: str, stored: pa.DataType, wanted: pa.DataType) -> str:
    """Returns the path of the first type that a reader cannot take for the wanted one; empty if there is none."""
    if pa.types.is_struct(stored) and pa.types.is_struct(wanted):
        both = [field for field in stored if wanted.get_field_index(field.name) >= 0]
        found = (_unfit(f"{path}.{field.name}", field.type, wanted.field(field.name).type) for field in both)
        return next(filter(None, found), "")
    if pa.types.is_list(stored) and pa.types.is_list(wanted):
        return _unfit(path, stored.value_type, wanted.value_type)
    return "" if stored.equals(wanted) else path


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


def timing_rows(timings: Iterable[Timings]) -> pa.RecordBatch:
    return _TIMINGS.list_to_record_batch([one.SerializeToString() for one in timings])


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
