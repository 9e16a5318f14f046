"""A program for a calculation."""

from soliloquy.v1.events_pb2 import CalculationNeeded, CodeFailed

from services.recipes.recipe import find, play
from services.runtime.events import Outcome
from services.runtime.model import Model


async def write(event: CalculationNeeded | CodeFailed, model: Model) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    return await play(event, recipe.codegen, role="codegen", model=model)
