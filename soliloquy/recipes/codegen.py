"""Decides on a calculation, writes its program, and reads what it printed; recipes differ only in their prompts."""

from collections.abc import Awaitable, Callable, Iterator

from soliloquy.recipes.answers import Decision, Program
from soliloquy.recipes.glosses import glossed_conversation
from soliloquy.recipes.outcomes import calculate
from soliloquy.recipes.templates import Templates, Texts
from soliloquy.recipes.verdicts import verdict
from soliloquy.recipes.words import words
from soliloquy.runtime.ask import Ask, Prompt
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.values import shown
from soliloquy.v1.conversation_pb2 import Calculation, CodeAttempt, Conversation, Turn
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeFailed, CodeWritten, ReplyNeeded, StudentReplied
from soliloquy.v1.sandbox_pb2 import STATUS_OK


def decider(
    prompt: Callable[[Conversation], Prompt], unsettled: Callable[[Conversation], bool], *, asks_always: bool = True
) -> Callable[[StudentReplied, Ask], Awaitable[Outcome]]:
    """Returns the tutor's first state: whether its reply needs a calculation, which no opening message does.

    A number of the student that is `unsettled` is calculated for, whatever the model decides; the model is asked about
    anything else only where the recipe `asks_always`.
    """

    async def decide(event: StudentReplied, ask: Ask) -> Outcome:
        conversation = event.conversation
        answers = conversation.turns[-1].HasField("student")
        is_open = answers and unsettled(glossed_conversation(conversation))
        decision = await ask(prompt(conversation), Decision) if is_open or (answers and asks_always) else None
        if decision and decision.description and decision.use_python != "n":
            return calculate(conversation, decision.description)
        if is_open:
            return calculate(conversation, _description(conversation))
        return emit(ReplyNeeded(conversation=conversation))

    return decide


# The slots of the shared texts that ask for a program.
SLOTS = {"use_python": {"description", "failure"}, "use_python_again": {"code", "error"}}


def _description(conversation: Conversation) -> str:
    """Describes a calculation that the tutor did not ask for."""
    problem, said = conversation.problem, conversation.turns[-1].student.text
    return words(problem.language)["unsettled"].format(question=problem.question, said=said)


def code_writer(templates: Templates) -> Callable[[CalculationNeeded | CodeFailed, Ask], Awaitable[Outcome]]:
    """Returns the codegen role of a recipe with the prompts `use_python` and `use_python_again`."""

    async def write(event: CalculationNeeded | CodeFailed, ask: Ask) -> Outcome:
        calculation = event.conversation.turns[-1].calculation
        program = await ask(program_prompt(templates.of(event.conversation.run.prompts), calculation), Program)
        calculation.attempts.add(code=program.code, result_variables=program.result_variables)
        return emit(CodeWritten(conversation=event.conversation))

    return write


def program_prompt(texts: Texts, calculation: Calculation) -> Prompt:
    """Returns the prompt for the next attempt, which shows the error of the last one."""
    failed = calculation.attempts[-1] if calculation.attempts else None
    return _prompt(texts, calculation.description, failed)


def program_prompts(texts: Texts, calculation: Calculation) -> list[Prompt]:
    """Returns the prompt of each program; that of another attempt shows the error before it."""
    attempts, opinions = calculation.attempts, calculation.opinions
    failed_before = [None if _is_usable(one) else one for one in opinions]
    before = [*[None, *failed_before][: len(opinions)], *[None, *attempts][: len(attempts)]]
    return [_prompt(texts, calculation.description, failed) for failed in before]


def has_run(calculation: Calculation) -> bool:
    """Whether there is an output to reply from: that of the last program, or a settled value that overrules it."""
    if calculation.overruled:
        return bool(calculation.settled_output)
    return bool(calculation.attempts) and _is_usable(calculation.attempts[-1])


def output(calculation: Calculation) -> str:
    """Returns the variables of the last attempt, or what overrules them, as the tutor's prompts show them."""
    if calculation.overruled:
        return calculation.settled_output
    values = calculation.attempts[-1].execution.values
    return "\n".join(f"{value.name} = {shown(value.value)}" for value in values)


def written_answers(turn: Turn) -> Iterator[str]:
    """Yields the decision and each program as a model is to write them; empty for a program that failed."""
    needed = turn.HasField("calculation")
    yield Decision.written(
        use_python="y" if needed else "n", description=turn.calculation.description if needed else None
    )
    # Nothing is learned from a program that was outvoted or overruled.
    counts = not turn.calculation.overruled
    found = verdict(turn.calculation.attempts[-1].execution) if turn.calculation.attempts else None
    for opinion in turn.calculation.opinions:
        yield _program(opinion) if counts and _is_usable(opinion) and verdict(opinion.execution) is found else ""
    for attempt in turn.calculation.attempts:
        yield _program(attempt) if counts and _is_usable(attempt) else ""


def _is_usable(attempt: CodeAttempt) -> bool:
    return attempt.execution.status == STATUS_OK


def _program(attempt: CodeAttempt) -> str:
    fenced = f"```python\n{attempt.code}\n```"
    return Program.written(python={"Python Code": fenced, "Result Variable": ", ".join(attempt.result_variables)})


def _prompt(texts: Texts, description: str, failed: CodeAttempt | None) -> Prompt:
    failure = ""
    if failed:
        execution = failed.execution
        error = f"line {execution.error_line}: {execution.error}" if execution.error_line else execution.error
        failure = texts.fill("use_python_again", code=failed.code, error=error)
    return texts.prompt("use_python", description=description, failure=failure)
