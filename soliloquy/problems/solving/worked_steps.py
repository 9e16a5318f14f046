"""Has a model read a solution in prose into steps, and calculates each of them again."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from soliloquy.problems.files.problem_from_row import BadField, problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.problems.files.step_questions import phrases_in
from soliloquy.problems.solving.step_graph import steps_from_script
from soliloquy.programs.terms import CannotTrace
from soliloquy.recipes.answers import Text
from soliloquy.recipes.claims import is_in
from soliloquy.recipes.templates import Templates
from soliloquy.runtime.answers import Answer, Fields, Unreadable
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.truth.locales import gloss
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_MODEL, PLAN_SOURCE_PROSE, Claim, CodeAttempt, Problem, Step

TEMPLATES = Templates(Path(__file__).with_name("prompts"), {"steps": {"question", "solution"}}, recipe="problems")
# An input with this source stands in the question.
_QUESTION = "question"


def _number(value: object) -> object:
    """Accepts a number that is written with separators."""
    return value.replace(",", "") if isinstance(value, str) else value


_Number = Annotated[float, BeforeValidator(_number)]


class _Input(Fields):
    symbol: Text = Field(alias="Symbol")
    name: str = Field(default="", alias="Name")
    value: _Number = Field(alias="Value")
    unit: str = Field(default="", alias="Unit")
    source: Text = Field(alias="Source")


class _Step(Fields):
    sought: Text = Field(alias="Sought")
    symbol: Text = Field(alias="Symbol")
    expression: Text = Field(alias="Expression")
    inputs: list[_Input] = Field(alias="Inputs")
    value: _Number = Field(alias="Value")
    unit: str = Field(default="", alias="Unit")


class WorkedSteps(Answer):
    steps: list[_Step] = Field(min_length=1, alias="Steps")


async def worked_steps(problem: Problem, ask: Ask) -> Problem:
    """Returns the steps of a solution and the calls that read them; no steps if no answer of the model holds."""
    texts, read = TEMPLATES.in_language(problem.language), Problem()
    prompt = texts.prompt("steps", question=problem.question, solution=problem.solution)
    try:
        found = await ask(prompt, WorkedSteps, partial(_check, problem=problem))
        read.steps.extend(_steps(found, problem))
        read.plan = PLAN_SOURCE_MODEL
    except Unusable:
        read.plan = PLAN_SOURCE_PROSE
    read.enrichment.calls.extend(ask.calls)
    return read


def _check(found: WorkedSteps, problem: Problem) -> None:
    """Raises Unreadable for a step that does not come to its value, or whose numbers stand nowhere."""
    _steps(found, problem)
    for number, step in enumerate(found.steps, start=1):
        if not _stands_in(gloss(problem.solution, problem.language), step.value, step.unit):
            raise Unreadable(f"step {number}: {format_value(step.value, step.unit)} does not stand in the solution")
        for known in step.inputs:
            if known.source == _QUESTION and not _stands_in(
                gloss(problem.question, problem.language), known.value, known.unit
            ):
                shown = format_value(known.value, known.unit)
                raise Unreadable(f"step {number}: {known.symbol} = {shown} does not stand in the question")


def _stands_in(text: str, value: float, unit: str) -> bool:
    return is_in(text, Claim(value=value, unit=unit))


def _steps(found: WorkedSteps, problem: Problem) -> Sequence[Step]:
    try:
        return _checked(problem, problem.solution, [_row(step, problem.language) for step in found.steps])
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        raise Unreadable(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except BadField as error:
        raise Unreadable(str(error)) from error


def _checked(problem: Problem, solution: str, steps: list[dict[str, Any]]) -> Sequence[Step]:
    """Builds the steps that a solution gives; raises ValidationError or BadField unless they lead to the answer."""
    answer = {"value": problem.answer.value, "unit": problem.answer.unit}
    row = {"question": problem.question, "solution": solution, "steps": steps, "answer": answer}
    return problem_from_row(ProblemRow.model_validate(row), problem.source, problem.language).steps


def _row(step: _Step, language: str) -> dict[str, Any]:
    name, phrases = step.sought.removeprefix("the "), phrases_in(language)
    return {
        "kind": "compute",
        "ask": phrases.asks_sought.format(name=name),
        "explanation": phrases.finds_sought.format(name=name),
        "expression": step.expression,
        "inputs": [
            {"symbol": one.symbol, "name": one.name, "value": one.value, "unit": one.unit} for one in step.inputs
        ],
        "result": {"symbol": step.symbol, "name": step.sought, "value": step.value, "unit": step.unit},
    }


def _said_in(language: str, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the steps of a program in the words of another language than English."""
    phrases = phrases_in(language)
    for step in steps if language else ():
        name = step["result"]["name"] if "result" in step else ""
        step |= {"ask": "", "explanation": phrases.finds_sought.format(name=name) if name else step["explanation"]}
    return steps


def is_bare(problem: Problem) -> bool:
    """Whether the solution says the answer and nothing of how it is found."""
    results = sum(step.HasField("result") for step in problem.steps)
    return results <= 1 and not any(step.expression or step.formula for step in problem.steps)


def agreed_steps(problem: Problem, programs: Iterable[CodeAttempt]) -> Sequence[Step]:
    """Returns the steps of the first program that can be followed to the answer; empty if none can."""
    for program in programs:
        try:
            steps = steps_from_script(program.code, *program.result_variables[:1])
            return _checked(problem, program.code, _said_in(problem.language, steps))
        except (CannotTrace, ValidationError, BadField):
            # Another program may have been written in a way that can be followed.
            continue
    return ()
