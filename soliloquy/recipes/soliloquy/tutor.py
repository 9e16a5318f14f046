"""The tutor's first state: deciding whether to calculate."""

from soliloquy.recipes.answers import Decision
from soliloquy.recipes.outcomes import calculate
from soliloquy.recipes.soliloquy import prompting
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.events_pb2 import ReplyNeeded, StudentReplied


async def decide(event: StudentReplied, ask: Ask) -> Outcome:
    """Decides whether the next reply needs a calculation."""
    conversation = event.conversation
    decision = await ask(prompting.deciding(conversation), Decision)
    if decision.description is None or decision.use_python == "n":
        return emit(ReplyNeeded(conversation=conversation))
    return calculate(conversation, decision.description)
