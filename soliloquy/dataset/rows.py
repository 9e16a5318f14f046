"""A conversation as an Arrow row: the protobuf message field by field, and back to the very same bytes."""

from collections.abc import Iterable

import pyarrow as pa
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from ptars import HandlerPool, PtarsConfig

from soliloquy.v1 import conversation_pb2, dataset_pb2, runs_pb2, sandbox_pb2


def _files() -> list[FileDescriptorProto]:
    """The contract, but for the values inside values: rows cannot recurse, and on the wire a message is bytes."""
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
_FROM_THE_FIRST = ["id", "run", "problem", "turns"]
# Of a rejected conversation: why it is.
REASONS = pa.field("reasons", pa.list_(pa.string()))
TIMINGS: pa.Schema = _TIMINGS.list_to_record_batch([]).schema


def rows(serialised: Iterable[bytes]) -> pa.RecordBatch:
    """One row a serialised Conversation; enums under the names that the contract gives them."""
    return _CONVERSATIONS.list_to_record_batch(list(serialised))


def timing_rows(serialised: Iterable[bytes]) -> pa.RecordBatch:
    """One row a serialised Timings."""
    return _TIMINGS.list_to_record_batch(list(serialised))


def completed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows that were written before the contract had all its columns, with all of them; KeyError for other rows."""
    if "collected_at" in batch.schema.names:
        return timing_rows(_TIMINGS.record_batch_to_array(batch).to_pylist())
    batch.select(_FROM_THE_FIRST)
    made = rows(messages(batch))
    return made.append_column(REASONS, batch[REASONS.name]) if REASONS.name in batch.schema.names else made


def messages(batch: pa.RecordBatch) -> list[bytes]:
    """The serialised Conversation of each row."""
    serialised: list[bytes] = _CONVERSATIONS.record_batch_to_array(batch).to_pylist()
    return serialised
