"""The operations of a solution, as the paper's tables count them."""

from collections.abc import Iterator

from soliloquy.recipes.mathwell.criteria.terms import CannotTrace, Term
from soliloquy.recipes.mathwell.criteria.tracing import trace_solution
from soliloquy.truth.numbers import numbers_in

_NAMES = {"+": "addition", "-": "subtraction", "*": "multiplication", "/": "division", "//": "division"}
CALCULATIONS = ("addition", "subtraction", "multiplication", "division")
OPERATIONS = (*CALCULATIONS, "fractions", "decimals")


def operations_in(code: str, question: str) -> list[str]:
    """Returns the distinct operations of the code, and fractions and decimals in the question or the answer.

    Empty if the code cannot be traced.
    """
    try:
        result = trace_solution(code)
    except CannotTrace:
        return []
    found = {_NAMES[sign] for sign in result.operations if sign in _NAMES} | set(_kinds(result, question))
    return [name for name in OPERATIONS if name in found]


def _kinds(result: Term, question: str) -> Iterator[str]:
    for number in numbers_in(question):
        written = question[number.start : number.end]
        if number.value.is_integer():
            continue
        yield "decimals" if "." in written else "fractions"
    if not result.value.is_integer():
        yield "decimals"
