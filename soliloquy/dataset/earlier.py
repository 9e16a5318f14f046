"""Reads conversations until 0.2, whose labels were fields of the contract."""

from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.message import Message

from soliloquy.recipes.labels import Labelled, Labels, places
from soliloquy.v1.conversation_pb2 import Conversation


def upgraded(serialised: bytes, labels: Labels) -> bytes:
    """Moves the fields that left the contract into the labels; they have kept their numbers."""
    conversation = Conversation.FromString(serialised)
    found = [(one, _read(one, getattr(labels, place))) for place, one in places(conversation)]
    conversation.DiscardUnknownFields()
    for one, read in found:
        one.labels = read
    return conversation.SerializeToString()


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
