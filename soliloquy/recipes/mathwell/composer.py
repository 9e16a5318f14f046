"""The last look at a problem: its answer, what the judges say of it, and what can be measured."""

import math

from soliloquy.recipes.judges import Judges
from soliloquy.recipes.mathwell.judging import judge
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.events_pb2 import ConversationFinished, ReplyNeeded
from soliloquy.v1.sandbox_pb2 import Value


async def finish(event: ReplyNeeded, ask: Ask, judges: Judges) -> Outcome:
    """What has no number for an answer is not judged: there is nothing to hold its text against."""
    conversation = event.conversation
    conversation.ending = Ending.ENDING_WRITTEN
    value = returned_value(conversation)
    number = number_of(value) if value else None
    if number is not None:
        conversation.problem.answer.value = number
        classifiers = conversation.run.classifiers
        await judge(conversation.problem, ask, judges.named(classifiers) if classifiers else None)
    return emit(ConversationFinished(conversation=conversation))


def returned_value(conversation: Conversation) -> Value | None:
    """What the function returned; None where it did not run."""
    values = conversation.turns[-1].calculation.attempts[-1].execution.values
    return values[0].value if values else None


def number_of(value: Value) -> float | None:
    """The number that a value is: True is none, and neither is a list of one."""
    kind = value.WhichOneof("kind")
    if kind not in ("integer", "real"):
        return None
    try:
        number = float(value.integer if kind == "integer" else value.real)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
