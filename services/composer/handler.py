"""Writes the tutor's visible reply."""

from soliloquy.recipes.judges import Judges
from soliloquy.recipes.recipe import find, play
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.model import Model
from soliloquy.v1.events_pb2 import ReplyNeeded


async def reply(event: ReplyNeeded, model: Model, judges: Judges) -> Outcome:
    compose = find(event.conversation.run.recipe).composer
    return await play(event, lambda played, ask: compose(played, ask, judges), role="composer", model=model)
