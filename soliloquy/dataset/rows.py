"""Converts protobuf messages to Arrow rows, field by field, and back to the same bytes."""

from collections.abc import Iterable

import pyarrow as pa
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from ptars import HandlerPool, PtarsConfig

from soliloquy.v1 import conversation_pb2, dataset_pb2, runs_pb2, sandbox_pb2


def _files() -> list[FileDescriptorProto]:
    """Returns the contract with nested values as bytes, the same on the wire: Arrow rows cannot recurse."""
    files = []
    for module in (runs_pb2, sandbox_pb2, conversation_pb2, dataset_pb2):
        module.DESCRIPTOR.CopyToProto(file := FileDescriptorProto())
        for message in file.message_type:
            for field in message.field:
                if message.name in ("Items", "Entry") and field.type_name == ".soliloquy.v1.Value":
                    field.type = FieldDescriptorProto.TYPE_BYTES
                    field.ClearField("type_name")
        files.append(file)
    return files


_DESCRIPTORS = DescriptorPool()
_HANDLERS = HandlerPool(
    [_DESCRIPTORS.AddSerializedFile(file.SerializeToString()) for file in _files()], PtarsConfig(enum_repr="string")
)
_CONVERSATIONS = _HANDLERS.get_for_message(
    _DESCRIPTORS.FindMessageTypeByName(conversation_pb2.Conversation.DESCRIPTOR.full_name)
)
_TIMINGS = _HANDLERS.get_for_message(_DESCRIPTORS.FindMessageTypeByName(dataset_pb2.Timings.DESCRIPTOR.full_name))
SCHEMA: pa.Schema = _CONVERSATIONS.list_to_record_batch([]).schema
_REQUIRED = ["id", "run", "problem", "turns"]
# Why a conversation was rejected; only rejected shards have the column.
REASONS = pa.field("reasons", pa.list_(pa.string()))
TIMINGS: pa.Schema = _TIMINGS.list_to_record_batch([]).schema


def rows(serialised: Iterable[bytes]) -> pa.RecordBatch:
    """Returns a row for each serialised Conversation; an enum is its name in the contract."""
    return _CONVERSATIONS.list_to_record_batch(list(serialised))


def timing_rows(serialised: Iterable[bytes]) -> pa.RecordBatch:
    """Returns a row for each serialised Timings."""
    return _TIMINGS.list_to_record_batch(list(serialised))


def completed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Adds the columns that an earlier contract lacked; raises KeyError for rows that are no conversations."""
    if "collected_at" in batch.schema.names:
        return timing_rows(_TIMINGS.record_batch_to_array(batch).to_pylist())
    batch.select(_REQUIRED)
    complete = rows(messages(batch))
    has_reasons = REASONS.name in batch.schema.names
    return complete.append_column(REASONS, batch[REASONS.name]) if has_reasons else complete


def messages(batch: pa.RecordBatch) -> list[bytes]:
    """Returns the serialised Conversation of each row."""
    serialised: list[bytes] = _CONVERSATIONS.record_batch_to_array(batch).to_pylist()
    return serialised
