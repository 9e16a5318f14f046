"""Runs one role of a recipe on an event, once or in several versions."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from typing import NamedTuple, TypeVar

from soliloquy.recipes.outcomes import finish
from soliloquy.recipes.recipe import Recipe
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.runtime.events import ConversationEvent, Outcome
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Conversation, Ending, ModelCall
from soliloquy.v1.events_pb2 import StudentRejected

E = TypeVar("E", bound=ConversationEvent)


async def play(event: E, act: Callable[[E, Ask], Awaitable[Outcome]], *, role: str, model: Model) -> Outcome:
    """Runs a role on an event and stores every raw model answer in the conversation's last turn.

    If the model's answers stay unusable, the conversation ends with that as the reason.
    """
    return (await _version(event, act, role, model)).recorded()


async def play_best(
    event: E,
    act: Callable[[E, Ask], Awaitable[Outcome]],
    *,
    role: str,
    model: Model,
    recipe: Recipe,
    best_of: int,
) -> Outcome:
    """Runs a role several times and takes the version in which the recipe's check finds the fewest faults.

    The calls of that version are the last of the turn.
    """
    if best_of == 1 or role not in recipe.ranked:
        return await play(event, act, role=role, model=model)
    versions = await asyncio.gather(*(_version(event, act, role, model, number) for number in range(best_of)))
    best = min(versions, key=lambda version: _fault_count(version.conversation, recipe))
    return best.recorded([call for version in versions if version is not best for call in version.calls])


class _Version(NamedTuple):
    outcome: Outcome
    calls: Sequence[ModelCall]

    @property
    def conversation(self) -> Conversation:
        [message] = self.outcome
        return message.conversation

    def recorded(self, others: Sequence[ModelCall] = ()) -> Outcome:
        for message in self.outcome:
            message.conversation.turns[-1].calls.extend([*others, *self.calls])
        return self.outcome


async def _version(
    event: E, act: Callable[[E, Ask], Awaitable[Outcome]], role: str, model: Model, number: int = 0
) -> _Version:
    """Runs a role on a copy of the event; each version but the first has seeds of its own."""
    played = deepcopy(event)
    conversation = played.conversation
    asked_before = len(conversation.turns[-1].calls) if conversation.turns else 0
    origin = (conversation.run.seed, conversation.id, len(conversation.turns), asked_before)
    ask = Ask(
        model=model,
        role=role,
        origin=(*origin, "version", number) if number else origin,
        draw_key=conversation.id,
    )
    try:
        outcome = await act(played, ask)
    except Unusable as unusable:
        if role == "student" and not isinstance(event, StudentRejected):
            conversation.turns.add(number=len(conversation.turns) + 1)
        outcome = finish(conversation, Ending.ENDING_UNPARSABLE, str(unusable))
    return _Version(outcome, ask.calls)


def _fault_count(conversation: Conversation, recipe: Recipe) -> float:
    """Counts what the recipe's check finds in a conversation so far, and messages that are not as they were drawn."""
    if conversation.ending == Ending.ENDING_UNPARSABLE:
        return math.inf
    checked = recipe.check(conversation)
    missed = sum(turn.right is not None and turn.meant_wrong is turn.right for turn in checked.turns)
    return len(checked.faults) + missed
