"""The Use Python state: a program from the description alone."""

from soliloquy.v1.events_pb2 import CalculationNeeded, CodeFailed, CodeWritten

from services.recipes.answers import Program
from services.recipes.soliloquy import prompting
from services.runtime.ask import Ask
from services.runtime.events import Outcome, emit


async def write(event: CalculationNeeded | CodeFailed, ask: Ask) -> Outcome:
    """The program for a calculation; after a failed attempt the error is shown."""
    calculation = event.conversation.turns[-1].calculation
    program = await ask(prompting.use_python(calculation), Program)
    calculation.attempts.add(code=program.code, result_variables=program.result_variables)
    return emit(CodeWritten(conversation=event.conversation))
