"""The last state: records the answer, the opinions of the judges, and the measures."""

import math

from soliloquy.problems.solving.independent_programs import value_of
from soliloquy.recipes import outcomes
from soliloquy.recipes.judges import Judges
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.failure import Refused
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.events_pb2 import ReplyNeeded
from soliloquy_papers.mathwell.judging import judge


async def finish(event: ReplyNeeded, ask: Ask, judges: Judges) -> Outcome:
    """Judges a problem only if its answer is a number."""
    conversation = event.conversation
    if not conversation.turns[-1].calculation.attempts:
        raise Refused("a problem is written together with a program, and the conversation has none")
    number = returned_number(conversation)
    if number is not None:
        conversation.problem.answer.value = number
        run = conversation.run
        classifiers = judges.named(run.classifiers) if run.classifiers else None
        await judge(conversation.problem, ask, classifiers, run.prompts)
    return outcomes.finish(conversation, Ending.ENDING_WRITTEN)


def returned_number(conversation: Conversation) -> float | None:
    """Returns the result of the function; None if it did not run, or returned True, a list or a text."""
    number = value_of(conversation.turns[-1].calculation.attempts[-1].execution)
    return number if number is not None and math.isfinite(number) else None
