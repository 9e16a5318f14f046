"""Events, and how messages become events and back."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.lineage import extended, short_digest
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.topics import TOPIC_OF, TOPICS, Topic, origin
from soliloquy.runtime.traces.spans import traceparent_of
from soliloquy.v1 import events_pb2
from soliloquy.v1.runs_pb2 import Run

MAX_EVENT_BYTES = 256 * 1024
# The first second of the year 10000, which no timestamp can say.
END_OF_TIME = 253_402_300_800

ConversationEvent = (
    events_pb2.ProgramsNeeded
    | events_pb2.ProgramsWritten
    | events_pb2.EnrichmentNeeded
    | events_pb2.ConversationStarted
    | events_pb2.StudentReplied
    | events_pb2.StudentRejected
    | events_pb2.TurnHeld
    | events_pb2.CalculationNeeded
    | events_pb2.CodeWritten
    | events_pb2.CodeFailed
    | events_pb2.ReplyNeeded
    | events_pb2.TutorReplied
    | events_pb2.ConversationFinished
    | events_pb2.ConversationCollected
)

RunEvent = (
    events_pb2.ProblemSubmitted
    | events_pb2.RunStanding
    | events_pb2.RunHeld
    | events_pb2.RunChanged
    | events_pb2.RunStored
    | events_pb2.RunCancelled
)

# Belongs to no run.
OtherEvent = events_pb2.CallAudited | events_pb2.ServiceDescribed
# The key of what belongs to no tenant; none is called so.
_NO_TENANT = "(installation)"

# It names folders and files.
_RUN_KEY = re.compile(r"\w[\w.:-]{0,199}", re.ASCII)

# The messages that a handler returns.
Outcome = Sequence[ConversationEvent]
AnyOutcome = Sequence[ConversationEvent | RunEvent]
E = TypeVar("E", bound=ConversationEvent | RunEvent)


def emit(*messages: E) -> Sequence[E]:
    return messages


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One record of a topic. Everything except the payload travels as CloudEvents headers."""

    id: str
    topic: str
    key: str
    payload: bytes
    source: str
    time: float
    # The root of the conversation's trace; empty for an event without a conversation.
    traceparent: str = ""
    # When the conversation and the turn of this event began.
    began: dict[str, float] = field(default_factory=dict)
    # The digests of the services that touched the conversation or an earlier attempt at its problem, with spaces.
    lineage: str = ""
    # How often the handler has failed, when it may be retried, and its last error.
    attempt: int = 0
    not_before: float = 0.0
    error: str = ""
    # Whether a person replayed it from the dead letters.
    replayed: bool = False
    # Why the record is not one of our events, and the type it claims to have; empty for a valid event.
    flaw: str = ""
    type: str = ""


class Undecodable(Exception):
    """The payload is not a message of the event's topic."""


class EventTooLarge(Failure):
    """The event exceeds the size limit of a topic."""


class UnknownTopic(Exception):
    """topics.toml assigns no topic."""


def message_of(event: Event) -> Message:
    if event.flaw:
        raise Undecodable(f"{event.topic}: {event.flaw}")
    try:
        message = TOPICS[origin(event.topic)].message.FromString(event.payload)
    except DecodeError as error:
        raise Undecodable(f"{event.topic}: the payload of event {event.id} is no valid message ({error})") from error
    if isinstance(message, events_pb2.ServiceDescribed) and short_digest(event.payload) != event.key:
        raise Undecodable(f"{event.topic}: event {event.id} is not keyed by its digest")
    if isinstance(message, OtherEvent):
        return message
    assert isinstance(message, ConversationEvent | RunEvent)
    if not _RUN_KEY.fullmatch(key := run_key(run_of(message))):
        raise Undecodable(f"{event.topic}: event {event.id} has no valid run id: {key[:80]!r}")
    return message


def topic_of(message: Message) -> Topic:
    try:
        return TOPIC_OF[type(message)]
    except KeyError:
        name = type(message).__name__
        raise UnknownTopic(f"no topic carries {name}: give it one in soliloquy/runtime/topics.toml") from None


def checked(event: Event) -> Event:
    """Returns the event if its topic accepts it."""
    if origin(event.topic) not in TOPICS:
        raise UnknownTopic(f"event {event.id}: there is no topic {event.topic!r} in soliloquy/runtime/topics.toml")
    if len(event.payload) > MAX_EVENT_BYTES:
        raise EventTooLarge(
            f"{event.topic}: event {event.id} of {event.key} is {len(event.payload)} bytes, "
            f"above the limit of {MAX_EVENT_BYTES}: shorten the conversation (fewer turns, shorter replies)"
        )
    return event


def first_event(message: ConversationEvent | RunEvent | OtherEvent, *, source: str, time: float) -> Event:
    """Makes an event that no other event caused; its id derives from its content."""
    payload = message.SerializeToString(deterministic=True)
    topic = topic_of(message)
    event_id = digest(topic.name, payload.hex())
    return Event(
        id=event_id,
        topic=topic.name,
        key=key_of(message),
        payload=payload,
        source=source,
        time=time,
        traceparent=_traceparent_of(message),
        began={topic.begins: time} if topic.begins else {},
    )


def caused_events(cause: Event, outcome: AnyOutcome, *, source: str, time: float, service: str = "") -> list[Event]:
    """Makes the events of a handler's outcome. Their ids derive from the cause, so a redelivery repeats them.

    `service` is the digest of the service whose handler it is.
    """
    return [
        Event(
            id=digest(cause.id, topic.name, position),
            topic=topic.name,
            key=key,
            payload=message.SerializeToString(deterministic=True),
            source=source,
            time=time,
            traceparent=cause.traceparent if key == cause.key else _traceparent_of(message),
            began=cause.began | {topic.begins: time} if topic.begins else cause.began,
            lineage=extended(cause.lineage, service),
        )
        for position, message in enumerate(outcome)
        for topic, key in [(topic_of(message), key_of(message))]
    ]


def key_of(message: ConversationEvent | RunEvent | OtherEvent) -> str:
    if isinstance(message, events_pb2.CallAudited):
        return message.tenant or _NO_TENANT
    if isinstance(message, events_pb2.ServiceDescribed):
        return short_digest(message.SerializeToString(deterministic=True))
    if isinstance(message, ConversationEvent) and TOPIC_OF[type(message)].key == "conversation":
        return message.conversation.id
    key = run_key(run_of(message))
    return f"{key}/{message.place}" if isinstance(message, events_pb2.RunStanding) and message.place else key


def partition_key(key: str) -> str:
    """Returns the part of a key that chooses the partition: all rows of a run are in the same one."""
    return key.partition("/")[0]


def _traceparent_of(message: ConversationEvent | RunEvent | OtherEvent) -> str:
    return traceparent_of(message.conversation.id) if isinstance(message, ConversationEvent) else ""


def run_of(message: ConversationEvent | RunEvent) -> Run:
    return message.conversation.run if isinstance(message, ConversationEvent) else message.run


def ordinal_of(message: ConversationEvent | RunEvent) -> int | None:
    """Returns the place of the message's problem in its run; None for a message about the run as a whole."""
    if isinstance(message, ConversationEvent):
        return message.conversation.ordinal
    return message.ordinal if isinstance(message, events_pb2.ProblemSubmitted) else None


def run_key(run: Run) -> str:
    """Identifies one execution of a run."""
    return f"{run.id}-{run.growing}" if run.growing else run.id
