"""Decides whether the tutor's next reply needs a calculation, once it is known what the student claims."""

from soliloquy.recipes.playing import play_by_rules
from soliloquy.recipes.reader import with_claims
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.model import Model, ReserveOf, no_reserve
from soliloquy.v1.events_pb2 import StudentReplied


async def decide(event: StudentReplied, model: Model, reserve: ReserveOf = no_reserve) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    event = StudentReplied(conversation=await with_claims(event.conversation, recipe.reader, model))
    spare = reserve("tutor", event.conversation.id)
    return await play_by_rules(event, recipe.tutor, role="tutor", model=model, recipe=recipe, reserve=spare)
