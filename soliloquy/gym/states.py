"""Takes a stored conversation back to a state of one of its turns."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Calculation, Conversation, Turn
from soliloquy.v1.events_pb2 import CalculationNeeded, ReplyNeeded, StudentReplied


class _State(NamedTuple):
    # The roles that answer from there on.
    roles: Sequence[str]
    event: Callable[..., ConversationEvent]


STATES: Mapping[str, _State] = {
    "deciding": _State(("tutor", "codegen", "composer"), StudentReplied),
    "programming": _State(("codegen", "composer"), CalculationNeeded),
    "replying": _State(("composer",), ReplyNeeded),
}


def has_state(turn: Turn, state: str) -> bool:
    """Whether a turn went through a state that can be taken up again."""
    return turn.HasField("tutor") and (state != "programming" or bool(turn.calculation.attempts))


def event_at(conversation: Conversation, number: int, state: str) -> ConversationEvent:
    """Returns the event at which the tutor came to this state of a turn, for the message and program that stood.

    Raises Failure if the conversation has no such state.
    """
    if not 1 <= number <= len(conversation.turns) or not has_state(conversation.turns[number - 1], state):
        raise Failure(f"conversation {conversation.id} has no {state} in turn {number}: choose another turn or state")
    roles, event = STATES[state]
    left = deepcopy(conversation)
    del left.turns[number:]
    # Turns that were taken back later came back as others.
    kept = [rewind for rewind in left.rewinds if rewind.turns[0].number <= number]
    del left.rewinds[:]
    left.rewinds.extend(kept)
    # People judged what was said then.
    for name in ("ending", "ending_reason", "resolution", "human_labels"):
        left.ClearField(name)
    left.turns[-1].ClearField("human_labels")
    _take_back(left.turns[-1], roles)
    return event(conversation=left)


def _take_back(turn: Turn, roles: Sequence[str]) -> None:
    """Removes the last answers of these roles, and all that came of them."""
    said = max((place for place, call in enumerate(turn.calls) if call.role == "student"), default=-1)
    asked = (place for place, call in enumerate(turn.calls) if place > said and call.role in roles)
    first = next(asked, len(turn.calls))
    del turn.calls[first:]
    before = [one for one in turn.rejected if all(place < first for place in one.calls)]
    del turn.rejected[:]
    turn.rejected.extend(before)
    turn.ClearField("tutor")
    turn.ClearField("verification")
    if "tutor" in roles:
        turn.ClearField("calculation")
    elif "codegen" in roles:
        turn.calculation.CopyFrom(Calculation(description=turn.calculation.description))
