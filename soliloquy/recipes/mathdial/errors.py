"""Locates the error of a solution by its numbers, which take precedence over the model's description."""

from typing import NamedTuple

from soliloquy.recipes.mathdial.claims import equations, is_right
from soliloquy.recipes.mathdial.labels_pb2 import Confusion
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.v1.conversation_pb2 import Problem


class LocatedError(NamedTuple):
    category: str
    # The first wrong line, from 1.
    line: int


def locate_error(confusion: Confusion, problem: Problem) -> LocatedError | None:
    """Returns None if the numbers do not determine the error."""
    lines = [list(equations(line)) for line in confusion.solution.splitlines()]
    return _went_on(lines, problem) or _quantity(lines, problem)


_Lines = list[list[tuple[list[float], float]]]


def _went_on(lines: _Lines, problem: Problem) -> LocatedError | None:
    """The solution reaches the right answer and continues to another one."""
    results = [(number, result) for number, line in enumerate(lines, start=1) for _, result in line]
    for at, (_, result) in enumerate(results[:-1]):
        if is_right(result, problem):
            return LocatedError("went_on", results[at + 1][0])
    return None


def _quantity(lines: _Lines, problem: Problem) -> LocatedError | None:
    """The solution uses a number of the question that the right solution does not need."""
    calculated = [step for step in problem.steps if step.HasField("result")]
    if not all(step.expression for step in calculated):
        return None
    given = {number.value for number in numbers_in_digits(problem.question)}
    needed = {known.value for step in calculated for known in step.inputs}
    needed |= {number.value for step in calculated for number in numbers_in_digits(step.expression)}
    for number, line in enumerate(lines, start=1):
        if any(given.intersection(put_in) - needed for put_in, _ in line):
            return LocatedError("quantity", number)
    return None
