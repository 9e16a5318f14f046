"""Compares the numbers that a program came to with those that the student and the tutor state.

Programs often compare nothing, so that their verdict lies in their numbers.
"""

import re

from soliloquy.recipes.codegen import has_run
from soliloquy.recipes.verdicts import is_of_student
from soliloquy.runtime.files import table_beside
from soliloquy.runtime.values import plain
from soliloquy.truth.calculations import results_in
from soliloquy.truth.markup import without_markup
from soliloquy.truth.number_meanings import Value
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.truth.quantities import quantities_in
from soliloquy.truth.stated_answer import answer_in, denied_numbers
from soliloquy.v1.conversation_pb2 import Turn

_WORDS = table_beside(__file__, "verdicts.toml")
_REPORTS, _OF_STUDENT = (re.compile(_WORDS[kind], re.IGNORECASE) for kind in ("reports", "of_student"))
# How far before a number its report begins, within the sentence.
_REPORT = 120
_GAP = re.compile(r"\s{2,}")
_CLAUSE_END = re.compile(r"[,.!?]\s")
# A value that is only printed, as in conversations of others.
_PRINTED = re.compile(r"^(\w+) = (.+)$", re.MULTILINE)
# A complex number without an imaginary part, as Python writes it.
_REAL = re.compile(r"^\(?([-+.\de]+)[-+]0j\)?$")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
# How far a rounded number may be from its value, relative to it, and how far binary fractions are off.
_ROUGH, _NOISE = 0.05, 1e-9
# How far the results of a program and of a student may differ who rounds on the way.
_ROUNDED_ON_THE_WAY = 0.005


def found_right(turn: Turn) -> bool | None:
    """Whether the student's numbers are those of a program that compares nothing; None if that is open."""
    own, others = _values(turn, of_student=True), _values(turn, of_student=False)
    if own and others:
        return all(any(_is_near(value, one) for one in others) for value in own)
    stated, values = numbers_in_digits(turn.student.text), own or others
    is_stated = all(any(_is_rounded(value, one) for one in stated) for value in values)
    return True if values and is_stated else None


def confirms(turn: Turn) -> bool:
    """Whether the program came to what the tutor tells, or to what the student wrote out without working it out."""
    values = _values(turn, of_student=False) or _values(turn, of_student=True)
    if not values:
        return False
    worked_out = results_in(turn.student.text)
    if _states(turn.tutor.text, values[-1]) or any(_is_near(values[-1], one) for one in worked_out):
        return True
    # A program works in metres where a student says centimetres.
    in_base = [one.unit.in_base(one.value) for one in quantities_in(turn.student.text) if one.unit]
    return all(any(_is_near(value, one) for one in in_base) for value in values)


def refutes(turn: Turn) -> bool:
    """Whether the program came to what the tutor tells, or to another number than the student's answer."""
    values = _values(turn, of_student=False)
    if not values:
        return False
    answer = answer_in(turn.student.text, "")
    # A number that is still to be divided is no answer.
    stated = [one.value for one in quantities_in(turn.student.text) if not one.term and one.value == answer]
    results = stated or [*results_in(turn.student.text)]
    differs = bool(results) and not any(_is_near(value, one) for value in values for one in results)
    return differs or _states(turn.tutor.text, values[-1])


def corrects(turn: Turn) -> bool:
    """Whether the tutor tells the numbers that a program came to instead of another: "2.6 m/s, not 2.9 m/s"."""
    values = _values(turn, of_student=False) or _values(turn, of_student=True)
    text = turn.tutor.text
    others = [one for one in denied_numbers(text) if not any(_is_rounded(value, one) for value in values)]
    return bool(values and others) and all(_states(text, value) for value in values)


def compares_own_number(turn: Turn) -> bool:
    """Whether the number that a program calls the student's is its own, which the student did not state."""
    values, stated = _values(turn, of_student=True), numbers_in_digits(turn.student.text)
    return bool(values) and not any(_is_rounded(value, one) for value in values for one in stated)


def computed_values(turn: Turn) -> list[float]:
    """Returns the numbers that a program came to besides those that it calls the student's."""
    return _values(turn, of_student=False)


def denied_value(turn: Turn) -> str:
    """Returns the only number that a program came to, as the tutor denies it: "not 5 seconds"; empty if it does not."""
    values = _values(turn, of_student=False)
    if len({*values}) != 1 or _values(turn, of_student=True):
        return ""
    text = turn.tutor.text
    return next((text[one.start : one.end] for one in denied_numbers(text) if _is_rounded(values[0], one)), "")


def misreported_value(turn: Turn) -> str:
    """Returns a number that the tutor reports as the correct result, if no value of the program is near; else empty."""
    values = _printed_values(turn)
    text = without_markup(turn.tutor.text)
    for one in quantities_in(text) if values else ():
        before = _CLAUSE_END.split(_GAP.sub(" ", text[max(0, one.start - _REPORT) : one.start]))[-1]
        if one.term or not _REPORTS.search(before) or _OF_STUDENT.search(before):
            continue
        forms = [one.value, *([one.unit.in_base(one.value)] if one.unit else [])]
        if not any(abs(value - form) <= _ROUGH * abs(value) for value in values for form in forms):
            return text[one.start : one.end]
    return ""


def _printed_values(turn: Turn) -> list[float]:
    """Returns the numbers that a program came to, or printed, and does not call the student's."""
    if not has_run(turn.calculation):
        return []
    execution = turn.calculation.attempts[-1].execution
    named = [(one.name, str(plain(one.value))) for one in execution.values] or _PRINTED.findall(execution.stdout)
    numbers = [(name, _REAL.sub(r"\1", written)) for name, written in named if not is_of_student(name)]
    return [float(written) for _, written in numbers if _NUMBER.fullmatch(written)]


def _values(turn: Turn, *, of_student: bool) -> list[float]:
    """Returns the numbers that a program calls the student's, or all others; none if it came to more than verdicts."""
    found = turn.calculation.attempts[-1].execution.values if has_run(turn.calculation) else ()
    kinds = {one.value.WhichOneof("kind") for one in found}
    if not kinds <= {"real", "integer", "boolean"}:
        return []
    numbers = [one for one in found if one.value.WhichOneof("kind") != "boolean"]
    return [float(plain(one.value)) for one in numbers if is_of_student(one.name) == of_student]


def _states(text: str, value: float) -> bool:
    text = without_markup(text)
    denied = {one.start for one in denied_numbers(text)}
    return any(_is_rounded(value, one) for one in numbers_in_digits(text) if one.start not in denied)


def _is_rounded(value: float, stated: Value) -> bool:
    """Whether the number is the value with fewer digits, of which a single one would say too little."""
    return abs(value - stated.value) <= min(stated.half, _ROUGH * abs(value)) + _NOISE * abs(value)


def _is_near(value: float, other: float) -> bool:
    return abs(value - other) <= _ROUNDED_ON_THE_WAY * abs(value)
