"""A conversation's next student message, or another try at the latest one."""

from soliloquy.recipes.recipe import find, play
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.model import Model
from soliloquy.runtime.retry import Refused
from soliloquy.v1.events_pb2 import ConversationStarted, StudentRejected, TutorReplied


async def reply(event: ConversationStarted | TutorReplied, model: Model) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    return await play(event, recipe.student, role="student", model=model)


async def again(event: StudentRejected, model: Model) -> Outcome:
    name = event.conversation.run.recipe
    try_again = find(name).student_again
    if try_again is None:
        raise Refused(f"the recipe {name!r} sends no message back to the student: give it a student_again")
    return await play(event, try_again, role="student", model=model)
