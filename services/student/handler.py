"""A conversation's next student message."""

from soliloquy.v1.events_pb2 import ConversationStarted, TutorReplied

from services.recipes.recipe import find, play
from services.runtime.events import Outcome
from services.runtime.model import Model


async def reply(event: ConversationStarted | TutorReplied, model: Model) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    return await play(event, recipe.student, role="student", model=model)
