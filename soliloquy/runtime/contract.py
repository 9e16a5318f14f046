"""Refuses events whose conversation does not fit the topic that carries it, or whose numbers cannot be."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from google.protobuf.message import Message

from soliloquy.runtime.events import END_OF_TIME, ConversationEvent, topic_of
from soliloquy.runtime.failure import Refused
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Turn
from soliloquy.v1.events_pb2 import (
    CallAudited,
    ConversationCollected,
    ProblemSubmitted,
    RunChanged,
    RunHeld,
    RunStanding,
    RunStored,
)
from soliloquy.v1.runs_pb2 import RunState

Condition = Callable[[Conversation, Turn], bool]

# The most that one conversation counts of anything: sums over four billion conversations still fit an int64.
_MOST = 2**31 - 1
# The number after it fits an int64 too: stretches of problems end with it.
_LAST_ORDINAL = 2**63 - 2
_ENDINGS = {*Ending.values()} - {Ending.ENDING_UNSPECIFIED}
# Conditions on a conversation and its last turn, by their names in topics.toml, each with the reason for a refusal.
NEEDS: Mapping[str, tuple[Condition, str]] = {
    "problem": (lambda whole, last: whole.HasField("problem"), "it has no problem"),
    "no turn": (lambda whole, last: not whole.turns, "it has turns already"),
    "open turn": (lambda whole, last: bool(whole.turns) and not last.HasField("tutor"), "no turn waits for a reply"),
    "calculation": (lambda whole, last: last.HasField("calculation"), "its last turn has no calculation"),
    "program": (lambda whole, last: bool(last.calculation.attempts), "its last turn has no program"),
    "whole turns": (lambda whole, last: not whole.turns or last.HasField("tutor"), "a turn waits for a reply"),
    "reply": (lambda whole, last: last.HasField("tutor"), "its last turn has no reply"),
    "ending": (lambda whole, last: whole.ending in _ENDINGS, "it has no ending that we know"),
}


class Misfit(Refused):
    """No service can use the event."""


def check(message: Message) -> None:
    """Raises Misfit if the conversation lacks what its topic needs, or if a number, time or state cannot be."""
    topic = topic_of(message)
    if isinstance(message, ConversationEvent):
        conversation = message.conversation
        if why := _misfit(conversation, topic.needs) or _impossible(conversation.run, "run."):
            raise Misfit(f"{topic.name} cannot carry conversation {conversation.id[:80]!r}: {why}")
    if why := _impossible_numbers(message):
        raise Misfit(f"{topic.name} cannot carry an event in which {why}")


def _impossible_numbers(message: Message) -> str:
    match message:
        case ConversationCollected():
            return _impossible(message.summary, "summary.", _MOST) or _impossible(message.finished, "finished.")
        case ProblemSubmitted():
            is_place = 0 <= message.ordinal <= _LAST_ORDINAL
            return _impossible(message.run, "run.") or ("" if is_place else f"ordinal is {message.ordinal}")
        case RunChanged() if message.state not in RunState.values():
            return f"state is {message.state}"
        case RunStanding() if len(message.begun) % 2 or [*message.begun] != sorted(message.begun):
            return f"begun is {str([*message.begun])[:80]}"
        case RunChanged() | RunStanding() | RunHeld() | RunStored() | CallAudited():
            return _impossible(message, "")
        case _:
            return ""


def _impossible(message: Message, place: str, most: float = math.inf) -> str:
    """Names the first number, at any depth, that is negative, above `most` or no time; empty if there is none."""
    for field, value in message.ListFields():
        for each in _values(value):
            if isinstance(each, float):
                is_possible = 0 <= each < END_OF_TIME
            elif isinstance(each, int):
                is_possible = 0 <= each <= most
            elif why := _impossible(each, f"{place}{field.name}.", most):
                return why
            else:
                continue
            if not is_possible:
                return f"{place}{field.name} is {each}"
    return ""


def _values(value: Any) -> Iterable[Any]:
    """Returns the numbers and messages of a field, of a map or of a list."""
    if isinstance(value, int | float | Message):
        return (value,)
    if isinstance(value, str | bytes):
        return ()
    many = value.values() if hasattr(value, "values") else value
    return [each for each in many if not isinstance(each, str | bytes)]


def _misfit(conversation: Conversation, needs: Iterable[str]) -> str:
    last = conversation.turns[-1] if conversation.turns else Turn()
    for fulfilled, otherwise in map(NEEDS.__getitem__, needs):
        if not fulfilled(conversation, last):
            return otherwise
    if conversation.attempt < 0 or not 0 <= conversation.ordinal <= _LAST_ORDINAL:
        return f"it is attempt {conversation.attempt} at problem {conversation.ordinal}"
    for place, turn in enumerate(conversation.turns, start=1):
        if turn.number != place:
            return f"its turn {place} has the number {turn.number}"
    return ""
