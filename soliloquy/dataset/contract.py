"""Describes the rows of a dataset: the contract, with the labels of one recipe as typed columns."""

from types import ModuleType
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from ptars import HandlerPool, PtarsConfig

from soliloquy.recipes.labels import Labels
from soliloquy.v1 import conversation_pb2, dataset_pb2, runs_pb2, sandbox_pb2

# Holds the types of the labels: descriptors of two files cannot refer to each other.
_HOLDER = "RecipeLabels"
# The field of a student's reply that held its rejected tries until 0.2.
EARLIER_REJECTED = 7


def row_handler(conversations: FileDescriptorProto, message: str) -> Any:
    """Returns what converts messages of this name between protobuf and Arrow."""
    pool = DescriptorPool()
    files = [_described(runs_pb2), _described(sandbox_pb2), conversations, _described(dataset_pb2)]
    handlers = HandlerPool(
        [pool.AddSerializedFile(file.SerializeToString()) for file in files], PtarsConfig(enum_repr="string")
    )
    return handlers.get_for_message(pool.FindMessageTypeByName(f"{conversations.package}.{message}"))


def labelled(labels: Labels) -> FileDescriptorProto:
    """Describes conversations whose labels are messages of their own types; without a type they have no column."""
    file = _described(conversation_pb2)
    holder = DescriptorProto(name=_HOLDER)
    for source in labels.files():
        source.CopyToProto(copied := FileDescriptorProto())
        for message in copied.message_type:
            _rename_types(message, f".{copied.package}.", f".{file.package}.{_HOLDER}.")
        holder.nested_type.extend(copied.message_type)
        holder.enum_type.extend(copied.enum_type)
    for message, field in _label_fields(file):
        # The labels of StudentReply are `student`.
        if kind := getattr(labels, message.name.lower().removesuffix("reply")):
            field.type = FieldDescriptorProto.TYPE_MESSAGE
            field.type_name = f".{file.package}.{_HOLDER}.{kind.DESCRIPTOR.name}"
        else:
            message.field.remove(field)
    file.message_type.append(holder)
    return file


def inlined(labels: Labels) -> FileDescriptorProto:
    """Describes conversations until 0.2, which had the labels as fields of their own."""
    file = labelled(labels)
    [holder] = (message for message in file.message_type if message.name == _HOLDER)
    for message, field in _label_fields(file):
        [kind] = (kind for kind in holder.nested_type if field.type_name.endswith(f".{kind.name}"))
        message.field.remove(field)
        # Labels that came later had no field there.
        moved = {number for span in message.reserved_range for number in range(span.start, span.end)}
        message.ClearField("reserved_range")
        message.field.extend(label for label in kind.field if label.number in moved)
    [reply] = (message for message in file.message_type if message.name == "StudentReply")
    reply.ClearField("reserved_range")
    reply.field.add(
        name="rejected",
        number=EARLIER_REJECTED,
        label=FieldDescriptorProto.LABEL_REPEATED,
        type=FieldDescriptorProto.TYPE_MESSAGE,
        type_name=f".{file.package}.RejectedTry",
    )
    return file


def _rename_types(message: DescriptorProto, package: str, holder: str) -> None:
    for field in message.field:
        if field.type_name.startswith(package):
            field.type_name = f"{holder}{field.type_name.removeprefix(package)}"
    for nested in message.nested_type:
        _rename_types(nested, package, holder)


def _label_fields(file: FileDescriptorProto) -> list[tuple[DescriptorProto, FieldDescriptorProto]]:
    return [(message, field) for message in file.message_type for field in message.field if field.name == "labels"]


def _described(module: ModuleType) -> FileDescriptorProto:
    """Describes a file for rows, without what a dataset keeps elsewhere.

    Nested values are bytes, the same on the wire: Arrow rows cannot recurse. The prompts of a run are files.
    """
    module.DESCRIPTOR.CopyToProto(file := FileDescriptorProto())
    for message in file.message_type:
        for field in message.field:
            if message.name in ("Items", "Entry") and field.type_name == ".soliloquy.v1.Value":
                field.type = FieldDescriptorProto.TYPE_BYTES
                field.ClearField("type_name")
        if message.name == "Run":
            [prompts] = (field for field in message.field if field.name == "prompts")
            message.field.remove(prompts)
            message.ClearField("nested_type")
    return file
