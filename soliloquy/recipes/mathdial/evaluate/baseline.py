"""The paper's simplest baseline: a tutor that always asks for the next step."""

from dataclasses import replace

from soliloquy.recipes.mathdial.composer import tutor_move
from soliloquy.recipes.mathdial.moves import OPENING
from soliloquy.recipes.recipe import Recipe, find
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.events_pb2 import StudentReplied, TutorReplied

_OPENS = "Hello! Would you show me how you worked this problem out?"
_ASKS = "And what would you do as the next step?"
_MOVE = ("focus", "seek_strategy")


async def ask_for_the_next_step(event: StudentReplied, _ask: Ask) -> Outcome:
    conversation = event.conversation
    turn = conversation.turns[-1]
    has_spoken = turn.HasField("student")
    turn.tutor.CopyFrom(tutor_move(*(_MOVE if has_spoken else OPENING)))
    turn.tutor.text = _ASKS if has_spoken else _OPENS
    return emit(TutorReplied(conversation=conversation))


def next_step() -> Recipe:
    """Returns the recipe with the baseline as its tutor."""
    return replace(find("mathdial"), tutor=ask_for_the_next_step)
