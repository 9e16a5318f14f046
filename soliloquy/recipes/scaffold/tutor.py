"""The tutor's first step: sends back what does not fit by rule, and asks for the calculation that checks a number."""

from soliloquy.recipes.outcomes import calculate
from soliloquy.recipes.scaffold import prompting
from soliloquy.recipes.scaffold.answers import CalculationRequest
from soliloquy.recipes.scaffold.fit import find_misfit, needs_calculation, send_back
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.events_pb2 import ReplyNeeded, StudentReplied


async def check(event: StudentReplied, ask: Ask) -> Outcome:
    """Has a program check every numeric answer, whatever the rules find."""
    conversation = event.conversation
    turn = conversation.turns[-1]
    if needs_calculation(conversation, turn):
        described = await ask(prompting.describing(conversation, turn), CalculationRequest)
        return calculate(conversation, described.description)
    if rejected := find_misfit(conversation, turn):
        return send_back(conversation, rejected)
    return emit(ReplyNeeded(conversation=conversation))
