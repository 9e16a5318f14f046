"""Writes the tutor's visible reply."""

from soliloquy.recipes.judges import Judges
from soliloquy.recipes.playing import play_best
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.model import BestOf, Model, only_one
from soliloquy.v1.events_pb2 import ReplyNeeded


async def reply(event: ReplyNeeded, model: Model, judges: Judges, best_of: BestOf = only_one) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    return await play_best(
        event,
        lambda played, ask: recipe.composer(played, ask, judges),
        role="composer",
        model=model,
        recipe=recipe,
        best_of=best_of("composer", event.conversation.id),
    )
