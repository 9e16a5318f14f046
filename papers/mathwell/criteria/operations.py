"""The operations of a solution: those of its program, and those that people count."""

import ast
import re
from collections.abc import Callable, Iterator

from soliloquy.programs.terms import CannotTrace, Term
from soliloquy.programs.tracing import trace_solution
from soliloquy.truth.numbers import numbers_in

_NAMES = {"+": "addition", "-": "subtraction", "*": "multiplication", "/": "division", "//": "division"}
_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//"}
_FRACTION = re.compile(r"\b\d+\s*/\s*(\d+)\b")
_PERCENT = re.compile(r"\d\s*(?:%|percent\b)", re.IGNORECASE)
CALCULATIONS = ("addition", "subtraction", "multiplication", "division")
OPERATIONS = (*CALCULATIONS, "fractions", "decimals")


def operations_in(code: str, question: str) -> list[str]:
    """Returns the distinct operations of the code, and fractions and decimals in the question or the answer.

    Only what the result rests on counts; of code that cannot be traced, all of it. Empty for what is no Python.
    """
    return _found(code, question, lambda term: _NAMES.get(term.operation))


def operations_by_people(code: str, question: str) -> list[str]:
    """Returns the operations as the people who labelled the paper's problems count them.

    Whoever takes two amounts away adds them first, so two subtractions in a row are an addition too. A share of a whole
    is taken by multiplying: to divide by the denominator of a fraction of the question is no division.
    """
    denominators = {float(below) for below in _FRACTION.findall(question)}

    def name(term: Term) -> str | None:
        match term.operation, term.parts:
            case "/", [_, Term(operation="", value=below)] if below in denominators:
                return "multiplication"
        return _NAMES.get(term.operation)

    found = _found(code, question, name)
    return ["addition", *found] if "addition" not in found and _subtracts_twice(code) else found


def _found(code: str, question: str, name: Callable[[Term], str | None]) -> list[str]:
    found = set(_kinds(question))
    try:
        result = trace_solution(code)
    except CannotTrace:
        found |= set(_written(code))
    else:
        found |= {named for term in result.walk() if (named := name(term))}
        found |= set() if result.value.is_integer() else {"decimals"}
    return [each for each in OPERATIONS if each in found]


def _subtracts_twice(code: str) -> bool:
    try:
        terms = trace_solution(code).walk()
    except CannotTrace:
        return False
    return any(term.operation == "-" and term.parts[0].operation == "-" for term in terms)


def _written(code: str) -> Iterator[str]:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _SIGNS:
            yield _NAMES[_SIGNS[type(node.op)]]


def _kinds(question: str) -> Iterator[str]:
    if _PERCENT.search(question):
        yield "decimals"
    for number in numbers_in(question):
        if not number.value.is_integer():
            yield "decimals" if "." in question[number.start : number.end] else "fractions"
