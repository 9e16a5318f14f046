"""An event as it travels, and how messages become events and come back."""

from collections.abc import Sequence
from dataclasses import dataclass

from google.protobuf.message import DecodeError, Message
from soliloquy.v1 import events_pb2

from services.runtime.seeds import digest
from services.runtime.topics import TOPIC_OF, TOPICS, origin

MAX_EVENT_BYTES = 256 * 1024

# What a handler returns: the messages that follow from the one it was given.
Outcome = Sequence[Message]


def emit(*messages: Message) -> Outcome:
    return messages


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One record of a topic. Everything but the payload travels as CloudEvents headers."""

    id: str
    topic: str
    key: str
    payload: bytes
    source: str
    time: float
    traceparent: str = ""
    # How often its handler has failed, when it may be tried again, and on what it failed last.
    attempt: int = 0
    not_before: float = 0.0
    error: str = ""


class Undecodable(Exception):
    """The payload is not the message that its topic carries."""


def message_of(event: Event) -> Message:
    try:
        return TOPICS[origin(event.topic)].message.FromString(event.payload)
    except DecodeError as error:
        raise Undecodable(f"{event.topic}: the payload of event {event.id} is no valid message ({error})") from error


def first_event(message: Message, *, source: str, time: float) -> Event:
    """An event that no other event caused; its id follows from its content."""
    payload = message.SerializeToString(deterministic=True)
    topic = TOPIC_OF[type(message)]
    return Event(
        id=digest(topic.name, payload.hex()),
        topic=topic.name,
        key=key_of(message),
        payload=payload,
        source=source,
        time=time,
    )


def caused_events(cause: Event, outcome: Outcome, *, source: str, time: float) -> list[Event]:
    """The events of a handler's outcome. Ids follow from the cause, so a redelivery repeats them."""
    return [
        Event(
            id=digest(cause.id, topic.name, position),
            topic=topic.name,
            key=key_of(message),
            payload=message.SerializeToString(deterministic=True),
            source=source,
            time=time,
            traceparent=cause.traceparent,
        )
        for position, message in enumerate(outcome)
        for topic in [TOPIC_OF[type(message)]]
    ]


def key_of(message: Message) -> str:
    if isinstance(message, events_pb2.ProblemSubmitted):
        return message.run.id
    conversation = message.conversation  # type: ignore[attr-defined]
    return str(conversation.run.id if TOPIC_OF[type(message)].key == "run" else conversation.id)
