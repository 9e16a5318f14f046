"""Reads conversations until 0.2, whose labels were fields of the contract."""

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.message import Message

from soliloquy.dataset.contract import PLACES
from soliloquy.recipes.labels import Labels
from soliloquy.v1.conversation_pb2 import Conversation, Enrichment, Problem, StudentReply, Turn, TutorReply

_Place = Conversation | Problem | Enrichment | Turn | StudentReply | TutorReply


def upgraded(serialised: bytes, labels: Labels) -> bytes:
    """Moves the fields that left the contract into the labels; they have kept their numbers."""
    conversation = Conversation.FromString(serialised)
    found = [(place, _read(place, labels)) for place in _places(conversation)]
    conversation.DiscardUnknownFields()
    for place, read in found:
        place.labels = read
    return conversation.SerializeToString()


def _places(conversation: Conversation) -> Iterator[_Place]:
    yield conversation
    yield conversation.problem
    if conversation.problem.HasField("enrichment"):
        yield conversation.problem.enrichment
    for turn in conversation.turns:
        yield turn
        if turn.HasField("student"):
            yield turn.student
        if turn.HasField("tutor"):
            yield turn.tutor


def _read(place: _Place, labels: Labels) -> bytes:
    kind: type[Message] | None = getattr(labels, PLACES[place.DESCRIPTOR.name])
    if kind is None:
        return b""
    read = kind.FromString(place.SerializeToString())
    place.DESCRIPTOR.CopyToProto(described := DescriptorProto())
    moved = {number for span in described.reserved_range for number in range(span.start, span.end)}
    for field in read.DESCRIPTOR.fields:
        if field.number not in moved:
            read.ClearField(field.name)
    read.DiscardUnknownFields()
    return read.SerializeToString()
