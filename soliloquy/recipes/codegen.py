"""The program of a calculation, from its description alone; the same in every recipe but for the prompt."""

from collections.abc import Awaitable, Callable

from soliloquy.recipes.answers import Program
from soliloquy.recipes.templates import Templates
from soliloquy.runtime.ask import Ask, Prompt
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Calculation, CodeAttempt
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeFailed, CodeWritten


def code_writer(
    prompt: Callable[[Calculation], Prompt],
) -> Callable[[CalculationNeeded | CodeFailed, Ask], Awaitable[Outcome]]:
    """The prompt shows the error after a failed attempt."""

    async def write(event: CalculationNeeded | CodeFailed, ask: Ask) -> Outcome:
        calculation = event.conversation.turns[-1].calculation
        program = await ask(prompt(calculation), Program)
        calculation.attempts.add(code=program.code, result_variables=program.result_variables)
        return emit(CodeWritten(conversation=event.conversation))

    return write


def program_prompt(templates: Templates, description: str, failed: CodeAttempt | None) -> Prompt:
    """Of a recipe that has the prompts `use_python`, and `use_python_again` for what failed."""
    failure = ""
    if failed:
        execution = failed.execution
        error = f"line {execution.error_line}: {execution.error}" if execution.error_line else execution.error
        failure = templates.filled("use_python_again", code=failed.code, error=error)
    return templates.prompt("use_python", description=description, failure=failure)
