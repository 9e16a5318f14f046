"""The tutor's first thought about a student message."""

from soliloquy.v1.events_pb2 import StudentReplied

from services.recipes.recipe import find, play
from services.runtime.events import Outcome
from services.runtime.model import Model


async def decide(event: StudentReplied, model: Model) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    return await play(event, recipe.tutor, role="tutor", model=model)
