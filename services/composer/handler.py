"""The tutor's visible reply."""

from soliloquy.recipes.recipe import find, play
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.model import Model
from soliloquy.v1.events_pb2 import ReplyNeeded


async def reply(event: ReplyNeeded, model: Model) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    return await play(event, recipe.composer, role="composer", model=model)
