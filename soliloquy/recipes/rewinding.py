"""Takes turns of a conversation back, so that it goes on from the last good one."""

from soliloquy.recipes.rules import Broken
from soliloquy.recipes.seat import has_person
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Resolution, Rewind
from soliloquy.v1.events_pb2 import TutorReplied

# The first turn has what a recipe begins with: it is never taken back.
_FIRST = 2


def rewound(conversation: Conversation, fault: Broken, *, certain: bool, most: int) -> Outcome | None:
    """Goes on before the turn of the fault, one turn earlier each time; None if nothing can be taken back."""
    if has_person(conversation) or len(conversation.rewinds) >= most or fault.turn < _FIRST:
        return None
    again = sum(any(turn.number == fault.turn for turn in rewind.turns) for rewind in conversation.rewinds)
    first = max(_FIRST, fault.turn - again)
    taken = conversation.turns[first - 1 :]
    rewind = Rewind(turns=taken, rule=fault.rule, because=fault.evidence, certain=certain)
    conversation.rewinds.append(rewind)
    del conversation.turns[first - 1 :]
    conversation.ending, conversation.ending_reason = Ending.ENDING_UNSPECIFIED, ""
    conversation.resolution = Resolution.RESOLUTION_UNSPECIFIED
    return emit(TutorReplied(conversation=conversation))


def rewinding_parts(conversation: Conversation) -> tuple[object, ...]:
    """Returns what distinguishes seeds and ids after a rewind from those before it."""
    return ("rewind", len(conversation.rewinds)) if conversation.rewinds else ()
