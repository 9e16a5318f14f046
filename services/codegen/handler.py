"""Writes the program for a calculation."""

from soliloquy.recipes.recipe import find, play
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.model import Model
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeFailed


async def write(event: CalculationNeeded | CodeFailed, model: Model) -> Outcome:
    return await play(event, find(event.conversation.run.recipe).codegen, role="codegen", model=model)
