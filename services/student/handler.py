"""Writes the student's next message, or rewrites the latest one."""

from soliloquy.recipes.playing import play_again, play_by_rules
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.model import Model, ReserveOf, no_reserve
from soliloquy.v1.events_pb2 import ConversationStarted, StudentRejected, TutorReplied


async def reply(event: ConversationStarted | TutorReplied, model: Model, reserve: ReserveOf = no_reserve) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    spare = reserve("student", event.conversation.id)
    return await play_by_rules(event, recipe.student, role="student", model=model, recipe=recipe, reserve=spare)


async def rewrite(event: StudentRejected, model: Model, reserve: ReserveOf = no_reserve) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    return await play_again(event, model=model, recipe=recipe, reserve=reserve("student", event.conversation.id))
