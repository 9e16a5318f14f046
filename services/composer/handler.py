"""Writes the tutor's visible reply."""

from soliloquy.recipes.judges import Judges
from soliloquy.recipes.opinions import further_opinion, weighed
from soliloquy.recipes.playing import play_by_rules
from soliloquy.recipes.recipe import find
from soliloquy.recipes.turn_faults import sent_back
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.model import Model, ReserveOf, no_reserve
from soliloquy.v1.events_pb2 import ReplyNeeded


async def reply(event: ReplyNeeded, model: Model, judges: Judges, reserve: ReserveOf = no_reserve) -> Outcome:
    conversation, recipe = event.conversation, find(event.conversation.run.recipe)
    if again := sent_back(conversation, recipe):
        return again
    if recipe.rules is not None and conversation.turns[-1].calculation.attempts:
        settled = recipe.rules.settled(conversation)
        if another := further_opinion(conversation, settled):
            return another
        event = ReplyNeeded(conversation=weighed(conversation, settled))
    return await play_by_rules(
        event,
        lambda played, ask: recipe.composer(played, ask, judges),
        role="composer",
        model=model,
        recipe=recipe,
        reserve=reserve("composer", event.conversation.id),
    )
