"""Writes the student's next message, or rewrites the latest one."""

from soliloquy.recipes.playing import play, play_best
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.model import BestOf, Model, only_one
from soliloquy.runtime.retry import Refused
from soliloquy.v1.events_pb2 import ConversationStarted, StudentRejected, TutorReplied


async def reply(event: ConversationStarted | TutorReplied, model: Model, best_of: BestOf = only_one) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    tries = best_of("student", event.conversation.id)
    return await play_best(event, recipe.student, role="student", model=model, recipe=recipe, best_of=tries)


async def rewrite(event: StudentRejected, model: Model) -> Outcome:
    name = event.conversation.run.recipe
    try_again = find(name).student_again
    if try_again is None:
        raise Refused(f"the recipe {name!r} cannot take a message back to the student: it defines no student_again")
    return await play(event, try_again, role="student", model=model)
