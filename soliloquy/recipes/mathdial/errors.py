"""What is wrong with a solution as far as its numbers alone decide it: where they do, no model is believed."""

from typing import NamedTuple

from soliloquy.recipes.mathdial.claims import equations, is_right
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.v1.conversation_pb2 import Confusion, Problem


class LocatedError(NamedTuple):
    category: str
    # The first line that is wrong, from 1.
    line: int


def locate_error(confusion: Confusion, problem: Problem) -> LocatedError | None:
    """None where numbers do not say what it is."""
    lines = [list(equations(line)) for line in confusion.solution.splitlines()]
    return _went_on(lines, problem) or _quantity(lines, problem)


_Lines = list[list[tuple[list[float], float]]]


def _went_on(lines: _Lines, problem: Problem) -> LocatedError | None:
    """It came to the right answer, and then to another."""
    results = [(number, result) for number, line in enumerate(lines, start=1) for _, result in line]
    for at, (_, result) in enumerate(results[:-1]):
        if is_right(result, problem):
            return LocatedError("went_on", results[at + 1][0])
    return None


def _quantity(lines: _Lines, problem: Problem) -> LocatedError | None:
    """It calculates with a number of the question that the right solution has no use for."""
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
