"""The tutor's visible reply."""

from soliloquy.v1.events_pb2 import ReplyNeeded

from services.recipes.recipe import find, play
from services.runtime.events import Outcome
from services.runtime.model import Model


async def reply(event: ReplyNeeded, model: Model) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    return await play(event, recipe.composer, role="composer", model=model)
