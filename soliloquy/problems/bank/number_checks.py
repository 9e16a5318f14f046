"""Promises about the numbers of a family."""

import math
from collections.abc import Iterator, Sequence

from soliloquy.problems.bank.family import Family
from soliloquy.problems.bank.family_steps import WorkedStep
from soliloquy.problems.mistakes.slips import STRATEGIES
from soliloquy.truth.number_format import format_value, is_workable
from soliloquy.v1.conversation_pb2 import Problem, Step

# From the force between two electrons far apart to the distance of a star.
SMALLEST, LARGEST = 1e-40, 1e20
# Slips differ from the right value by at least this share, whatever the tolerance.
CLOSEST = 0.03


def expressions_give_their_results(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    worked = {place: step for place, step in enumerate(family.steps) if isinstance(step, WorkedStep)}
    for problem in problems:
        for place, known in worked.items():
            step = problem.steps[place]
            value = known.expression.value({own.symbol: own.value for own in step.inputs})
            if not math.isclose(value, step.result.value, rel_tol=1e-4):
                yield f"{_named(step)} is {step.result.value:g}, but {step.expression} gives {value:g}"
        if worked and problem.answer != problem.steps[-1].result:
            yield "the answer is not the result of the last step"


def roundings_do_no_harm(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    """Without rounding on the way, the answer changes by less than half its tolerance."""
    if family.file.tolerance is None:
        return
    for problem in problems:
        values = {own.symbol: own.value for step in reversed(problem.steps) for own in step.inputs}
        for known in family.steps:
            if isinstance(known, WorkedStep):
                values[known.symbol] = known.expression.value(values)
        exact, answer = values[problem.answer.symbol], problem.answer.value
        if not math.isclose(exact, answer, rel_tol=family.file.tolerance / 2):
            yield f"the answer is {answer:g}, but {exact:g} without rounding on the way: {problem.question}"


def results_are_plausible(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        for step in numeric(problem):
            if not (is_workable(step.result.value) and SMALLEST < step.result.value < LARGEST):
                yield f"{_named(step)} is {format_value(step.result.value, step.result.unit)}: {problem.question}"


def slips_are_wrong(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    margin = max(CLOSEST, 2 * (family.file.tolerance or 0))
    for problem in problems:
        for step in numeric(problem):
            begin, right = f"{step.result.symbol} = ", step.result.value
            for slip in step.slips:
                working, wrong = slip.working, slip.value
                if not (math.isfinite(wrong) and wrong and abs(wrong - right) > margin * abs(right)):
                    yield f"{working} is not wrong enough, where {right:g} is right: {problem.question}"
                if not working.startswith(begin):
                    yield f"{working!r} does not state {step.result.symbol}"


def slips_are_complete(family: Family, problems: Sequence[Problem]) -> Iterator[str]:
    # Every draw has the same strategies and units.
    for step in numeric(problems[0]):
        if tuple(slip.strategy for slip in step.slips) != STRATEGIES:
            yield f"{_named(step)} lacks a slip for each strategy"
        if any(slip.unit != step.result.unit for slip in step.slips):
            yield f"{_named(step)} has slips in other units than {step.result.unit}"


def numeric(problem: Problem) -> Sequence[Step]:
    return [step for step in problem.steps if step.HasField("result")]


def _named(step: Step) -> str:
    return f"the {step.result.name} of step {step.number}"
