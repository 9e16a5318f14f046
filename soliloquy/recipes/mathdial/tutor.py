"""The tutor's first state: decides whether to check a number by calculation."""

from soliloquy.recipes.answers import Decision
from soliloquy.recipes.mathdial import prompting
from soliloquy.recipes.outcomes import calculate
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.events_pb2 import ReplyNeeded, StudentReplied


async def decide(event: StudentReplied, ask: Ask) -> Outcome:
    """Decides whether the reply needs a calculation; the first message never does."""
    conversation = event.conversation
    if not conversation.turns[-1].HasField("student"):
        return emit(ReplyNeeded(conversation=conversation))
    decision = await ask(prompting.deciding(conversation), Decision)
    if decision.description is None or decision.use_python == "n":
        return emit(ReplyNeeded(conversation=conversation))
    return calculate(conversation, decision.description)
