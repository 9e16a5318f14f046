"""The last state: records the answer, the opinions of the judges, and the measures."""

import math

from soliloquy.recipes import outcomes
from soliloquy.recipes.judges import Judges
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.failure import Refused
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.events_pb2 import ReplyNeeded
from soliloquy.v1.sandbox_pb2 import Value
from soliloquy_papers.mathwell.judging import judge


async def finish(event: ReplyNeeded, ask: Ask, judges: Judges) -> Outcome:
    """Judges a problem only if its answer is a number."""
    conversation = event.conversation
    if not conversation.turns[-1].calculation.attempts:
        raise Refused("a problem is written together with a program, and the conversation has none")
    value = returned_value(conversation)
    number = number_of(value) if value else None
    if number is not None:
        conversation.problem.answer.value = number
        run = conversation.run
        classifiers = judges.named(run.classifiers) if run.classifiers else None
        await judge(conversation.problem, ask, classifiers, run.prompts)
    return outcomes.finish(conversation, Ending.ENDING_WRITTEN)


def returned_value(conversation: Conversation) -> Value | None:
    """Returns the result of the function; None if it did not run."""
    values = conversation.turns[-1].calculation.attempts[-1].execution.values
    return values[0].value if values else None


def number_of(value: Value) -> float | None:
    """Returns a value as a finite number; None for True, lists and text."""
    kind = value.WhichOneof("kind")
    if kind not in ("integer", "real"):
        return None
    try:
        number = float(value.integer if kind == "integer" else value.real)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
