"""Hostile events: those of a real conversation or run with any field, header, payload, key or stage changed."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from soliloquy.runtime.events import ConversationEvent, Event, first_event
from soliloquy.runtime.topics import RETRY, TOPICS, Topic
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.events_pb2 import ProblemSubmitted, RunCancelled, RunChanged, RunStanding
from soliloquy.v1.runs_pb2 import Run, RunRequest, RunState
from tests.attack.mutations import broken_bytes

KINDS = ("as it is", "fields", "bytes", "another stage's", "another topic's", "headers", "runs")
# A writer to the log may start runs; a test of what one event does must not start endless ones.
_LIMITS_OF_WORK = {"max_attempts", "max_turns", "conversations", "in_flight"}
_STRINGS = (
    *("", "\0", "..", "../../x", "/etc/passwd", "\x1b[2J", "\u202e", "é" * 1_000, "x" * 20_000, "nan", "{}", "'; --"),
    *("9" * 400, "10^400", "(" * 500, "1/0", "```python\nwhile True: pass\n```", "<think>", "${reply}", "%s" * 50),
)
# Of maps: the prompts that a run changes, roles, and others.
_KEYS = ("student.txt", "deciding.txt", "personas.toml", "codes.toml", "tutor", "", "../x.txt")
_NUMBERS = (0, 1, -1, 7, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**64 - 1)
_FLOATS = (0.0, -1.0, 1e308, -1e308, float("inf"), float("nan"), 5e-324)
_HEADERS: dict[str, Sequence[Any]] = {
    "id": ("", "\0", "x" * 5_000, "../..", "é"),
    "key": ("", "\0", "x" * 5_000, "../..", "é"),
    "source": ("", "x" * 5_000, "\x1b[2J"),
    "time": (0.0, -1.0, 1e9, 2.5e11, 1e300),
    "traceparent": ("", "00-0-0-00", "x" * 5_000, "00-" + "f" * 32 + "-" + "f" * 16 + "-01", "---"),
    "began": ({}, {"turn": -1.0}, {"turn": 1e300}, {"conversation": 0.0, "turn": 1e9}, {"x": 1.0}),
    "attempt": (1, 4, 5, 10**6),
    "not_before": (-1.0, 4e9, 1e300),
    "error": ("", "x" * 5_000, "\x1b[2J"),
    "replayed": (True,),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Hostile:
    kind: str
    event: Event


def hostile_events(conversations: Sequence[Conversation], number: int, seed: int) -> Iterator[Hostile]:
    chance = random.Random(seed)
    topics = [topic for topic in TOPICS.values() if issubclass(topic.message, ConversationEvent)]
    for each in range(number):
        kind = chance.choice(KINDS)
        conversation = Conversation()
        conversation.CopyFrom(chance.choice(conversations))
        topic = chance.choice(topics)
        _set_back(conversation, chance.choice(topics) if kind == "another stage's" else topic, chance)
        # The events of one conversation wait for each other, a minute for each that fails five times.
        conversation.id = f"hostile-{each % 9_973}"
        # Otherwise most of the time would go to the forty events that follow each one which is handled.
        conversation.run.max_turns = conversation.run.max_attempts = 1
        message: Any = topic.message(conversation=conversation)
        if kind == "runs":
            message = _message_of_run(conversation, each, chance)
        if kind in ("fields", "runs"):
            for _ in range(chance.randint(1, 3)):
                _change_field(message, chance)
        event = first_event(message, source="attack", time=1.79e9 + each)
        changes: dict[str, Any] = {"id": f"{event.id}-{each}"}
        if kind == "bytes":
            changes["payload"] = _broken(message, event.payload, chance)
        elif kind == "another topic's":
            changes["topic"] = chance.choice(topics).name
        elif kind == "headers":
            for name in chance.sample([*_HEADERS], 2):
                changes[name] = chance.choice(_HEADERS[name])
        # Tables have no topic for retries.
        if chance.random() < 0.1 and TOPICS[event.topic].is_handled:
            changes["topic"] = changes.get("topic", event.topic) + RETRY
        yield Hostile(kind=kind, event=_replaced(event, changes))


def _set_back(conversation: Conversation, topic: Topic, chance: random.Random) -> None:
    """Takes a finished conversation back to where this topic carries it."""
    if "ending" in topic.needs:
        return
    conversation.ending = Ending.ENDING_UNSPECIFIED
    if "no turn" in topic.needs:
        del conversation.turns[:]
        return
    del conversation.turns[chance.randint(1, len(conversation.turns)) :]
    last = conversation.turns[-1]
    if {"reply", "whole turns"} & {*topic.needs}:
        return
    last.ClearField("tutor")
    if not {"calculation", "program"} & {*topic.needs}:
        last.ClearField("calculation")
        return
    last.calculation.description = last.calculation.description or "Divide 3 by 4."
    if "program" not in topic.needs:
        del last.calculation.attempts[:]
    elif not last.calculation.attempts:
        last.calculation.attempts.add(code="x = 3 / 4", result_variables=["x"])


def _message_of_run(conversation: Conversation, number: int, chance: random.Random) -> Message:
    """Makes an event of a run of its own: one that is cancelled takes no other event along."""
    run = Run()
    run.CopyFrom(conversation.run)
    # Room for all its conversations: one that lies in the dead letters keeps its place until somebody decides.
    run.id, run.in_flight = f"hostile-run-{number % 97}", 1_000
    request = RunRequest(recipe=run.recipe, problems="arithmetic", conversations=1, in_flight=1, max_attempts=1)
    changed = RunChanged(run=run, request=request, request_id=f"{number}", requested_at=1.79e9, changed_at=1.79e9)
    changed.state = chance.choice((RunState.RUN_STATE_RUNNING, RunState.RUN_STATE_PAUSED, RunState.RUN_STATE_FINISHED))
    changed.progress.tokens["tutor"].prompt = number
    messages = (
        ProblemSubmitted(run=run, problem=conversation.problem),
        changed,
        RunStanding(run=run, under_way=[0]),
        RunCancelled(run=run),
    )
    return chance.choice(messages)


def _replaced(event: Event, changes: dict[str, Any]) -> Event:
    return Event(**{name: changes.get(name, getattr(event, name)) for name in Event.__slots__})


def _broken(message: Any, payload: bytes, chance: random.Random) -> bytes:
    """Breaks the bytes of a message in a way that asks for no more work."""
    while True:
        broken = broken_bytes(payload, chance)
        try:
            run = type(message).FromString(broken).conversation.run
        except DecodeError:
            return broken
        if max(run.max_turns, run.max_attempts) <= 1:
            return broken


def _change_field(message: Message, chance: random.Random) -> None:
    """Changes one field, at any depth."""
    fields = [field for field in message.DESCRIPTOR.fields if field.name not in _LIMITS_OF_WORK]
    field = chance.choice(fields)
    value = getattr(message, field.name)
    if field.message_type and not field.message_type.GetOptions().map_entry:
        if not field.is_repeated:
            return _change_field(value, chance)
        if len(value):
            return _change_field(chance.choice(value), chance)
        return _change_field(value.add(), chance)
    if field.message_type:
        return _change_entry(value, field.message_type.fields_by_name["value"], chance)
    few = _values(field)
    if field.is_repeated:
        value.extend(chance.choice(few) for _ in range(chance.randint(1, 3)))
    else:
        setattr(message, field.name, chance.choice(few))
    return None


def _change_entry(entries: Any, values: Any, chance: random.Random) -> None:
    """Changes an entry of a map, or adds one."""
    name = chance.choice((*entries, *_KEYS))
    if values.message_type:
        _change_field(entries[name], chance)
    else:
        entries[name] = chance.choice(_values(values))


def _values(field: Any) -> Sequence[Any]:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING:
            return [text.encode() for text in _STRINGS] if field.type == FieldDescriptor.TYPE_BYTES else _STRINGS
        case FieldDescriptor.CPPTYPE_BOOL:
            return (False, True)
        case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
            return _FLOATS
        case FieldDescriptor.CPPTYPE_ENUM:
            return (0, 1, 99, -1)
        case FieldDescriptor.CPPTYPE_INT32:
            return [number for number in _NUMBERS if -(2**31) <= number < 2**31]
        case FieldDescriptor.CPPTYPE_INT64:
            return [number for number in _NUMBERS if number < 2**63]
        case _:
            return [number for number in _NUMBERS if number >= 0][:5]
