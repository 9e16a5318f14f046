"""Checks the answer of a problem by programs that a model writes from the question alone."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from soliloquy.problems.solving import rule_solver
from soliloquy.programs.operations import calculates
from soliloquy.recipes.answers import Program
from soliloquy.recipes.scene import Scene, Speaker
from soliloquy.recipes.templates import Templates
from soliloquy.runtime.ask import Ask, Prompt, Unusable
from soliloquy.runtime.model import Model
from soliloquy.runtime.model.samples import JoinedRequests
from soliloquy.runtime.seeds import digest
from soliloquy.truth.ledger import Ledger, make_ledger
from soliloquy.truth.measured_values import is_rounded
from soliloquy.truth.number_format import format_value, tidy
from soliloquy.v1.conversation_pb2 import EVIDENCE_KIND_PROGRAMS, CodeAttempt, Evidence, ModelCall, Problem
from soliloquy.v1.sandbox_pb2 import Execution, Job

PROGRAMS = 3
# The name of their prompt.
PROGRAM = "problems/program"
_TEMPLATES = Templates(
    Path(__file__).with_name("prompts"), {"program": {"question", "unit"}, "program_unit": {"unit"}}, recipe="problems"
)
# The name of the prompt that has the steps of a solution read.
STEPS = "problems/steps"
# Runs a job in the sandbox.
Run = Callable[[Job], Awaitable[Execution]]


async def run_programs(problem: Problem, model: Model, run: Run) -> list[CodeAttempt]:
    """Has the programs written and returns them with what became of each."""
    programs, _ = await write_programs(problem, model)

    async def ran(number: int, program: CodeAttempt) -> None:
        program.execution.CopyFrom(outcome_of(await run(job_of(program, f"{problem.id}-{number}"))))

    await asyncio.gather(*(ran(number, program) for number, program in enumerate(programs)))
    return programs


async def write_programs(problem: Problem, model: Model) -> tuple[list[CodeAttempt], list[ModelCall]]:
    """Asks for the programs; never shows the model the solution or the answer, except for the unit of the answer."""
    joined, purpose = JoinedRequests(model, PROGRAMS), ("independent program", problem.question)
    asks = [
        Ask(model=joined, role="codegen", origin=(*purpose, number), draw_key=digest(*purpose), problem=problem)
        for number in range(PROGRAMS)
    ]
    programs = await asyncio.gather(*(_program(problem, ask) for ask in asks))
    return [program for program in programs if program], [call for ask in asks for call in ask.calls]


def job_of(program: CodeAttempt, name: str) -> Job:
    return Job(id=name, code=program.code, result_variables=program.result_variables[:1])


def outcome_of(execution: Execution) -> Execution:
    """Returns the part of an execution that is the same each time."""
    return Execution(status=execution.status, values=execution.values, error=execution.error)


def weigh(programs: Sequence[CodeAttempt]) -> Evidence | None:
    """Returns what most of a problem's programs came to; None without a majority, or if none of it calculates."""
    results = [(value, program.code) for program in programs if (value := value_of(program.execution)) is not None]
    alike = [[other for other in results if _is_same(value, other[0])] for value, _ in results]
    most = max(alike, key=len, default=[])
    if 2 * len(most) <= PROGRAMS or not any(calculates(code) for _, code in most):
        return None
    return Evidence(kind=EVIDENCE_KIND_PROGRAMS, value=most[0][0], agreeing=len(most), programs=PROGRAMS)


def dispute(problem: Problem, programs: Evidence) -> str:
    """Returns how programs contradict the answer, with both numbers; empty if they agree with it."""
    own = problem.answer
    if not Ledger(make_ledger(problem, programs)).is_disputed:
        return ""
    stated, found = (format_value(number, own.unit) for number in (own.value, tidy(programs.value)))
    return f"the answer is {stated}, and {programs.agreeing} of {programs.programs} independent programs give {found}"


def program_prompt(problem: Problem) -> Prompt:
    texts, unit = _TEMPLATES.in_language(problem.language), problem.answer.unit
    asked = f"{texts.fill('program_unit', unit=unit)}\n" if unit else ""
    return texts.prompt("program", question=problem.question, unit=asked)


def speak(scene: Scene, _: Random) -> str:
    """Returns the scripted model's program, which rests on the question alone and fails where no rule applies."""
    code = rule_solver.program(scene.slot("question"))
    return json.dumps({"Python": {"Python Code": f"```python\n{code}\n```", "Result Variable": "answer"}})


# The scripted model reads no solutions.
SPEAKERS: Mapping[str, Speaker] = {PROGRAM: speak, STEPS: lambda scene, rng: "{}"}


async def _program(problem: Problem, ask: Ask) -> CodeAttempt | None:
    try:
        program = await ask(program_prompt(problem), Program)
    except Unusable:
        return None
    return CodeAttempt(code=program.code, result_variables=program.result_variables)


def value_of(execution: Execution) -> float | None:
    """Returns what a program came to; None if it failed or yielded no number."""
    if not execution.values:
        return None
    value = execution.values[0].value
    match value.WhichOneof("kind"):
        case "integer":
            return float(value.integer)
        case "real":
            return value.real
    return None


def _is_same(one: float, other: float) -> bool:
    return is_rounded(one, other) or is_rounded(other, one)
