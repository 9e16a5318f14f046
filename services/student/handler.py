"""Writes the student's next message, or rewrites the latest one; a conversation that is held waits in between."""

from soliloquy.recipes.playing import play_again, play_by_rules
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.handling import NotYet
from soliloquy.runtime.model import Model, ReserveOf, no_reserve
from soliloquy.v1.events_pb2 import ConversationStarted, StudentRejected, TurnHeld, TutorReplied
from soliloquy_services.student.held import HeldConversations


async def reply(
    event: ConversationStarted | TutorReplied, model: Model, held: HeldConversations, reserve: ReserveOf = no_reserve
) -> Outcome:
    if event.conversation in held:
        return emit(TurnHeld(conversation=event.conversation))
    recipe = find(event.conversation.run.recipe)
    spare = reserve("student", event.conversation.id)
    return await play_by_rules(event, recipe.student, role="student", model=model, recipe=recipe, reserve=spare)


async def go_on(event: TurnHeld, model: Model, held: HeldConversations, reserve: ReserveOf = no_reserve) -> Outcome:
    """Writes the message that was held, as soon as it may."""
    conversation = event.conversation
    if conversation in held:
        raise NotYet(held.release(conversation))
    began = TutorReplied if conversation.turns else ConversationStarted
    return await reply(began(conversation=conversation), model, held, reserve)


async def rewrite(event: StudentRejected, model: Model, reserve: ReserveOf = no_reserve) -> Outcome:
    recipe = find(event.conversation.run.recipe)
    return await play_again(event, model=model, recipe=recipe, reserve=reserve("student", event.conversation.id))
