"""Decides whether the tutor's next reply needs a calculation."""

from soliloquy.recipes.playing import play
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.model import Model
from soliloquy.v1.events_pb2 import StudentReplied


async def decide(event: StudentReplied, model: Model) -> Outcome:
    return await play(event, find(event.conversation.run.recipe).tutor, role="tutor", model=model)
