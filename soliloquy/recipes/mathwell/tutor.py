"""What is to be written, said once for whoever writes and for whoever looks at it."""

from soliloquy.recipes.mathwell.commissions import describe
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.events_pb2 import CalculationNeeded, StudentReplied


async def commission(event: StudentReplied, ask: Ask) -> Outcome:
    """There is nothing to decide: a problem always needs a program that solves it."""
    conversation = event.conversation
    wanted = conversation.problem.authorship.commission
    conversation.turns[-1].calculation.description = describe(wanted)
    return emit(CalculationNeeded(conversation=conversation))
