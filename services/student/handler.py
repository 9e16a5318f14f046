"""Writes the student's next message, or rewrites the latest one."""

from soliloquy.recipes.recipe import find, play
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.model import Model
from soliloquy.runtime.retry import Refused
from soliloquy.v1.events_pb2 import ConversationStarted, StudentRejected, TutorReplied


async def reply(event: ConversationStarted | TutorReplied, model: Model) -> Outcome:
    return await play(event, find(event.conversation.run.recipe).student, role="student", model=model)


async def rewrite(event: StudentRejected, model: Model) -> Outcome:
    name = event.conversation.run.recipe
    try_again = find(name).student_again
    if try_again is None:
        raise Refused(f"the recipe {name!r} cannot take a message back to the student: it defines no student_again")
    return await play(event, try_again, role="student", model=model)
