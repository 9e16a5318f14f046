"""Reads conversations until 0.2, whose labels were fields of the contract, and whose tries were the student's."""

from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from soliloquy.dataset.contract import EARLIER_REJECTED
from soliloquy.recipes.labels import Labelled, Labels, places
from soliloquy.v1.conversation_pb2 import Conversation, RejectedTry, Turn


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
