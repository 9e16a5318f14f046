"""The tutor's first step: sends back what does not fit by rule, and asks for the calculation that checks a number."""

from soliloquy.recipes.outcomes import calculate
from soliloquy.recipes.scaffold import prompting
from soliloquy.recipes.scaffold.answers import CalculationRequest
from soliloquy.recipes.scaffold.fit import find_misfit, follows, is_settled, may_differ, needs_calculation, send_back
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.events_pb2 import ReplyNeeded, StudentReplied


async def check(event: StudentReplied, ask: Ask) -> Outcome:
    """Has a program check every numeric answer, unless its sub-question is worked through and it goes back anyway."""
    conversation = event.conversation
    turn = conversation.turns[-1]
    rejected = find_misfit(conversation, turn)
    if needs_calculation(conversation, turn):
        if rejected and is_settled(conversation, turn) and not may_differ(conversation, turn):
            return send_back(conversation, rejected)
        described = await ask(prompting.describing(conversation, turn), CalculationRequest)
        return calculate(conversation, described.description)
    if rejected and not follows(conversation, turn):
        return send_back(conversation, rejected)
    return emit(ReplyNeeded(conversation=conversation))
