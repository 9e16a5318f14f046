"""The second state: describes the commission for the writer and for readers of the record."""

from soliloquy.recipes.mathwell.commissions import authorship_of, describe
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.events_pb2 import CalculationNeeded, StudentReplied


async def commission(event: StudentReplied, ask: Ask) -> Outcome:
    """Always asks for a program: a problem is written together with its solution."""
    conversation = event.conversation
    wanted = authorship_of(conversation.problem).commission
    conversation.turns[-1].calculation.description = describe(wanted)
    return emit(CalculationNeeded(conversation=conversation))
