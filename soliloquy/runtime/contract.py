"""Refuses events whose conversation does not fit the topic that carries it."""

from collections.abc import Callable, Iterable, Mapping

from google.protobuf.message import Message

from soliloquy.runtime.events import ConversationEvent, topic_of
from soliloquy.runtime.failure import Refused
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Turn

Condition = Callable[[Conversation, Turn], bool]

_ENDINGS = {*Ending.values()} - {Ending.ENDING_UNSPECIFIED}
# Conditions on a conversation and its last turn, by their names in topics.toml, each with the reason for a refusal.
NEEDS: Mapping[str, tuple[Condition, str]] = {
    "problem": (lambda whole, last: whole.HasField("problem"), "it has no problem"),
    "no turn": (lambda whole, last: not whole.turns, "it has turns already"),
    "open turn": (lambda whole, last: bool(whole.turns) and not last.HasField("tutor"), "no turn waits for a reply"),
    "calculation": (lambda whole, last: last.HasField("calculation"), "its last turn has no calculation"),
    "program": (lambda whole, last: bool(last.calculation.attempts), "its last turn has no program"),
    "reply": (lambda whole, last: last.HasField("tutor"), "its last turn has no reply"),
    "ending": (lambda whole, last: whole.ending in _ENDINGS, "it has no ending that we know"),
}


class Misfit(Refused):
    """No handler can continue the conversation from this topic."""


def check(message: Message) -> None:
    """Raises Misfit if the conversation lacks what its topic needs, or counts its turns or attempts wrongly."""
    if not isinstance(message, ConversationEvent):
        return
    conversation, topic = message.conversation, topic_of(message)
    if why := _misfit(conversation, topic.needs):
        raise Misfit(f"{topic.name} cannot carry conversation {conversation.id[:80]!r}: {why}")


def _misfit(conversation: Conversation, needs: Iterable[str]) -> str:
    last = conversation.turns[-1] if conversation.turns else Turn()
    for fulfilled, otherwise in map(NEEDS.__getitem__, needs):
        if not fulfilled(conversation, last):
            return otherwise
    if conversation.attempt < 0 or conversation.ordinal < 0:
        return f"it is attempt {conversation.attempt} at problem {conversation.ordinal}"
    for place, turn in enumerate(conversation.turns, start=1):
        if turn.number != place:
            return f"its turn {place} has the number {turn.number}"
    return ""
