"""The program of a calculation, from its description alone; the same in every recipe but for the prompt."""

from collections.abc import Awaitable, Callable

from soliloquy.v1.conversation_pb2 import Calculation
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeFailed, CodeWritten

from services.recipes.answers import Program
from services.runtime.ask import Ask, Prompt
from services.runtime.events import Outcome, emit


def writing(
    prompt: Callable[[Calculation], Prompt],
) -> Callable[[CalculationNeeded | CodeFailed, Ask], Awaitable[Outcome]]:
    """The prompt shows the error after a failed attempt."""

    async def write(event: CalculationNeeded | CodeFailed, ask: Ask) -> Outcome:
        calculation = event.conversation.turns[-1].calculation
        program = await ask(prompt(calculation), Program)
        calculation.attempts.add(code=program.code, result_variables=program.result_variables)
        return emit(CodeWritten(conversation=event.conversation))

    return write
