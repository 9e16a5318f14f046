"""Finds what the reader of calculations did not understand of a solution, so that nothing unread counts as verified.

Each number of a solution is given by the question, a constant, part of a calculation or equation that holds, or one
of their results again. The first number or sign that is none of these is unread.
"""

import ast
import math
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from soliloquy.truth.arithmetic_policy import KNOWN, LIMITS, TOLERANCES
from soliloquy.truth.arithmetic_terms import measured_number
from soliloquy.truth.calculations import calculations_of
from soliloquy.truth.known_numbers import KnownNumbers
from soliloquy.truth.measured_values import place_of, stated_value
from soliloquy.truth.programs import program_result
from soliloquy.truth.unknowns import comparisons_in
from soliloquy.truth.written_arithmetic import ROUGHLY, tokens_of
from soliloquy.truth.written_numbers import Written
from soliloquy.v1.conversation_pb2 import Problem

# The characters before and behind an unread number that are shown with it.
_AROUND = 16
_COMPARES: Mapping[str, Callable[[float, float], bool]] = {"<": operator.lt, ">": operator.gt}
_SIGNS = frozenset(["=", *ROUGHLY])


class Reading(NamedTuple):
    """What was made of a solution."""

    # The first bit that was not understood; empty if all of it was.
    unread: str
    # The numbers that calculations, equations or the program come to.
    results: Sequence[float]

    def gives(self, value: float) -> bool:
        return any(
            abs(value - result) <= max(min(place_of(value), place_of(result)) / 2, abs(result) * TOLERANCES.exact)
            for result in self.results
        )


# What each character of a solution is part of.
_LOOSE, _OPERAND, _RESULT = range(3)


def unread_in(problem: Problem) -> str:
    return reading_of(problem).unread


def reading_of(problem: Problem) -> Reading:
    worked = [step for step in problem.steps if step.expression]
    inputs = tuple(own.value for step in worked for own in step.inputs)
    # The steps are those of the explanation that a problem came with, not of one that a model wrote for it.
    brought = "" if problem.enrichment.calls else problem.enrichment.detailed_solution
    return _reading(problem.question, brought or problem.solution, inputs, tuple(step.result.value for step in worked))


@lru_cache(1024)
def _reading(question: str, solution: str, inputs: Sequence[float], worked: Sequence[float]) -> Reading:
    known = KnownNumbers(question)
    returned = program_result(solution)
    if returned is not None:
        return Reading(_first_unknown([*inputs, *_constants(solution)], known, worked), (*worked, returned))
    if unknown := _first_unknown(inputs, known, worked):
        return Reading(unknown, ())
    known.learn_all([*inputs, *worked])
    tokens = [token for token in tokens_of(solution) if token.kind == "break" or token.text.strip()]
    parts = _parts(question, solution)
    results = [*worked]
    for place, token in enumerate(tokens):
        if token.kind == "number" and parts[token.start] == _RESULT:
            known.learn(token)
            results.append(token.value)
        elif not _is_read(tokens, place, parts[token.start], known):
            return Reading(_bit(solution, token), results)
    return Reading("", results)


def _bit(text: str, token: Written) -> str:
    """Returns the token with the words around it."""
    start = text.rfind(" ", 0, max(0, token.start - _AROUND)) + 1 if token.start > _AROUND else 0
    end = text.find(" ", token.end + _AROUND)
    return " ".join(text[start : end if end > 0 else len(text)].split())


def _first_unknown(values: Iterable[float], known: KnownNumbers, results: Sequence[float]) -> str:
    own = {*results}
    for value in values:
        if value not in own and not known.may_use(stated_value(value)):
            return f"{value:g}"
    return ""


def _constants(program: str) -> list[float]:
    with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
        tree = ast.parse(program)
    nodes = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [float(value) for value in nodes if isinstance(value, int | float)]


def _parts(question: str, solution: str) -> bytearray:
    """Returns for each character whether it is in a calculation or equation that holds, and in what that states."""
    parts = bytearray(len(solution) + 1)
    links = [link for link in calculations_of(solution) if link.right]
    offset = len(question) + 1
    found = [one for one in comparisons_in(f"{question}\n{solution}") if one.holds is not False]
    equations = [(one.after.start - offset, one.after.end - offset, one.holds) for one in found]
    equations = [(start, end, holds) for start, end, holds in equations if start >= 0]
    operands = [(link.start, link.stated_at) for link in links] + [(start, end) for start, end, _ in equations]
    results = [(link.stated_at, link.end) for link in links] + [
        (start, end) for start, end, holds in equations if holds
    ]
    for spans, part in ((operands, _OPERAND), (results, _RESULT)):
        for start, end in spans:
            parts[start:end] = bytes([part]) * (end - start)
    return parts


def _is_read(tokens: Sequence[Written], place: int, part: int, known: KnownNumbers) -> bool:
    token = tokens[place]
    before, behind = (tokens[at] if 0 <= at < len(tokens) else None for at in (place - 1, place + 1))
    match token.kind:
        case "number":
            return known.has(measured_number(token)) or _is_constant(token, part, before, behind)
        case "equals" if token.text in _SIGNS and part == _LOOSE and behind and behind.kind != "word":
            return not _is_arithmetic(tokens, place)
        case "break":
            return _is_harmless(token, before, behind)
        case "factorial":
            return part != _LOOSE
        case "word" if token.text.lower() in KNOWN.changes:
            return part != _LOOSE or not (behind and behind.kind in ("number", "open"))
    return True


def _is_constant(token: Written, part: int, before: Written | None, behind: Written | None) -> bool:
    """Whether a number needs no source: the size of a unit, or a small one that nobody states as a result."""
    value = abs(token.value * token.scale)
    goes_on = behind is not None and (
        behind.kind in ("operator", "function", "open")
        or behind.value == math.pi
        or (behind.kind == "word" and len(behind.text) < LIMITS.shortest_noun)
    )
    is_stated = part == _LOOSE and before is not None and before.kind == "equals" and not goes_on
    is_part = token.text[0].isalpha() and any(math.isclose(value, part) for part in KNOWN.parts)
    return value in KNOWN.sizes or (value in KNOWN.counts and not is_stated) or is_part


def _is_arithmetic(tokens: Sequence[Written], end: int) -> bool:
    """Whether what stands before an equals sign is a calculation of numbers, and no formula with symbols."""
    side: list[Written] = []
    while end > 0 and (token := tokens[end - 1]).kind not in ("word", "break", "equals"):
        side.append(token)
        end -= 1
    opened = sum(token.kind == "open" for token in side) - sum(token.kind == "close" for token in side)
    return bool(side) and side[-1].kind not in ("operator", "raised", "factorial") and opened == 0


def _is_harmless(token: Written, before: Written | None, behind: Written | None) -> bool:
    is_number = before is not None and before.kind in ("number", "close")
    if token.text == ":" and is_number and behind and behind.kind in ("number", "open"):
        # "8 : 2", and not "after 20 years: 30 - 20".
        return before is not None and before.end == token.start and token.end < behind.start
    if token.text in _COMPARES and before and behind and before.kind == behind.kind == "number":
        return _COMPARES[token.text](before.value, behind.value)
    if token.text == "|":
        # The bar of a table, and not that of an absolute value.
        beside = [one for one in (before, behind) if one and one.kind in ("number", "operator", "open", "close")]
        return all(one.end < token.start or one.start > token.end for one in beside)
    if not token.text.strip() or token.text[0] in KNOWN.punctuation or token.text[-1:].isdigit():
        return True
    return not any(one and one.kind in ("number", "operator", "equals") for one in (before, behind))
