"""Reads expected answers, and checks with calculation or algebra whether a text gives or reveals one."""

import functools
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from soliloquy.recipes.claims import unit_in
from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.texts.phrases import says, says_exactly
from soliloquy.truth.algebra import algebra, are_equivalent, gives_algebra
from soliloquy.truth.calculations import calculations_of
from soliloquy.truth.exactness import NOISE, is_right
from soliloquy.truth.expressions import BadExpression, Unworkable
from soliloquy.truth.judge import judge_text
from soliloquy.truth.laws import Law, expression, law, law_between, laws_in
from soliloquy.truth.ledger import Ledger
from soliloquy.truth.markup import without_markup
from soliloquy.truth.measured_values import has_three_digits, is_rounded
from soliloquy.truth.number_format import format_value
from soliloquy.truth.quantities import WrittenQuantity, calculations_in, is_same, quantities_in
from soliloquy.truth.stated_answer import answer_quantity
from soliloquy.truth.unit_table import Unit
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import Ledger as LedgerRecord
from soliloquy.v1.conversation_pb2 import LedgerEntry, Quantity

_FACTOR = re.compile(r"[\d.)*/+^×·−-]\s*$")
_DIGIT = re.compile(r"\d")
# The longest answer, in words, that may be a number in words with its unit.
_SHORT = 4
_TIMES = frozenset(unit(time).measure for time in ("s", "min", "h", "day", "week", "year"))
_MINUTE = unit("min")
_DEGREE = unit("°")
_DEGREES = {_DEGREE, unit("°C"), unit("°F")}
_TOLERANCE: float = POLICY["talk"]["tolerance"]


# A message is read when it is checked, when it is answered and for several rules.
@functools.lru_cache(1024)
def final_number(text: str) -> WrittenQuantity | None:
    """Returns the quantity that a text comes to, or the result of the calculation that it is."""
    return answer_quantity(text, "") or next(iter(calculations_in(text)[-1:]), None)


def gives_quantity(answer: str, wanted: Quantity, *, tolerance: float, least_digits: int) -> bool | None:
    """Whether an answer equals this quantity in any form and unit; None if it holds no number."""
    # A unit that nobody knows: "8 % per annum".
    if answer.strip(" .") == format_value(wanted.value, wanted.unit):
        return True
    worked = _calculate(answer)
    if worked is not None and (
        is_right(worked, wanted.value, wanted.unit, tolerance)
        or (has_three_digits(wanted.value) and is_rounded(wanted.value, worked))
    ):
        return True
    if found := final_number(answer):
        # A whole number is not near another one.
        near = NOISE if found.value.is_integer() and wanted.value.is_integer() else tolerance
        ways = [found, *_without_unit(found, wanted)]
        return any(is_same(one, wanted.value, wanted.unit, near, least_digits=least_digits) for one in ways)
    return None if worked is None else False


def _without_unit(found: WrittenQuantity, wanted: Quantity) -> Iterator[WrittenQuantity]:
    """Yields the bare number where a unit may be left out: "10 days" for 10, and "8 liters per minute" for 8 liters."""
    if found.unit is None:
        return
    if not wanted.unit and found.unit == _MINUTE:
        # "2 h 30 min" for 2.5
        yield found._replace(value=found.value / 60, unit=None)
    known = unit(wanted.unit)
    # "9 degrees" may be an angle or a temperature.
    are_degrees = _DEGREE in (known, found.unit) and _DEGREES.issuperset((known, found.unit))
    if not wanted.unit or are_degrees or _is_rate(found.unit, known) or _is_rate(known, found.unit):
        yield found._replace(unit=None)


def _is_rate(one: Unit, other: Unit) -> bool:
    above, per, below = one.measure.partition("/")
    return bool(per) and above == other.measure and below in _TIMES


def _calculate(answer: str) -> float | None:
    """Calculates an answer that is nothing but a calculation, such as "√2/2"."""
    calculation = expression(without_markup(answer).strip("$ \n"))
    if calculation is None or calculation.symbols:
        return None
    try:
        return calculation.value({})
    except Unworkable:
        return None


@functools.lru_cache(4096)
def gives_law(answer: str, formula: str) -> bool | None:
    """Whether an answer is this equation in any equivalent form; None if that cannot be decided."""
    if not formula:
        return None
    if equation := _equation(formula):
        return gives_algebra(answer, equation.text)
    if says_exactly(answer, formula):
        return True
    try:
        wanted = law(formula)
    except BadExpression:
        return None
    told = [are_equivalent(one, wanted) for one in _laws_in(without_markup(answer), wanted.symbols)]
    if True in told:
        return True
    return False if False in told else None


def miscalculations(answer: str) -> Iterator[str]:
    """Yields the calculations whose stated result is wrong beyond rounding."""
    return (link.text for link in calculations_of(without_markup(answer)) if not link.right)


def _laws_in(answer: str, symbols: set[str]) -> Iterator[Law]:
    """Yields the equation that the answer is, or those that its words contain."""
    with suppress(BadExpression):
        whole = law(answer.strip("$ ."))
        if whole.symbols == symbols:
            yield whole
            return
    for left, right in laws_in(answer):
        # With an unread factor in front it would be a different equation.
        found = None if _FACTOR.search(answer.partition(left)[0]) else law_between(left, right, symbols)
        if found:
            yield found


@functools.lru_cache(4096)
def _equation(answer: str) -> Law | None:
    """Returns the equation in letters that an answer is, or that its words introduce: "Add 7 to both: 4x = 28."."""
    return algebra(answer) or algebra(answer.rpartition(":")[2])


@functools.lru_cache(4096)
def expected_number(answer: str) -> WrittenQuantity | None:
    """Returns the expected number; None for words that only mention one: "add 72 to 9938", "the two heights"."""
    found = None if _equation(answer) else final_number(answer)
    if found is None or found.stated:
        return found
    alone = sum(not one.term for one in quantities_in(answer)) == 1
    return found if alone and (_DIGIT.search(answer) or len(answer.split()) <= _SHORT) else None


@functools.lru_cache(4096)
def expects_formula(answer: str) -> bool:
    return _equation(answer) is not None or (
        expected_number(answer) is None and next(laws_in(answer), None) is not None
    )


def expects_number(target: SubQuestion) -> bool:
    """Whether a program can calculate the expected answer."""
    return expected_number(target.answer) is not None


def gives_expected(text: str, target: SubQuestion) -> bool | None:
    """Whether a message gives the expected answer; None if it gives none, or none that can be compared."""
    wanted = expected_number(target.answer)
    if wanted:
        entry = _entry(target.answer, wanted.value)
        return judge_text(text, entry, Ledger(LedgerRecord(entries=[entry])), target.question)
    if expects_formula(target.answer):
        return gives_law(text, target.answer)
    return True if says(text, target.answer) else None


@functools.lru_cache(4096)
def _entry(answer: str, value: float) -> LedgerEntry:
    return LedgerEntry(quantity=Quantity(value=value, unit=unit_in(answer, value)), tolerance=_TOLERANCE)


def revealed(text: str, hidden: Sequence[SubQuestion], known: str) -> Iterator[SubQuestion]:
    """Yields the sub-questions whose answers a text reveals beyond what is known."""
    text = without_markup(text)
    said = quantities_in(text)
    given = quantities_in(known)
    for target in hidden:
        wanted = expected_number(target.answer)
        if wanted:
            # A given length of 1 km does not reveal 1000 m.
            known_so = any(math.isclose(one.value, wanted.value, rel_tol=_nearness(one, wanted)) for one in given)
            telling = (one for one in said if same_quantity(one, wanted, _nearness(one, wanted)))
            # "8 - 6 = 2" tells a result, even if the problem has another 2.
            tells = any(not (known_so or _is_known(one, given)) or _is_result(one, text) for one in telling)
        elif expects_formula(target.answer):
            # Each line of an equation's solution is equivalent to the problem's equation.
            said_so = says(text, target.answer) and not says(known, target.answer)
            tells = said_so or (bool(gives_law(text, target.answer)) and not gives_law(known, target.answer))
        else:
            tells = says(text, target.answer) and not says(known, target.answer)
        if tells:
            yield target


def _nearness(one: WrittenQuantity, other: WrittenQuantity) -> float:
    """A whole number is not near another one."""
    return NOISE if one.value.is_integer() and other.value.is_integer() else _TOLERANCE


def _is_known(one: WrittenQuantity, given: Sequence[WrittenQuantity]) -> bool:
    """Whether a quantity is as it was told: 209 mm do not reveal that they are 20.9 cm."""
    return any((one.value, one.unit) == (known.value, known.unit) for known in given)


def _is_result(one: WrittenQuantity, text: str) -> bool:
    return one.stated and text[: one.start].rstrip(" $€£").endswith("=")


def same_quantity(one: WrittenQuantity, other: WrittenQuantity, tolerance: float = _TOLERANCE) -> bool:
    """Whether two texts state the same quantity, even if only one of them gives the unit."""
    if one.unit and other.unit:
        own, another = one.unit.read_as(other.unit.kind), other.unit.read_as(one.unit.kind)
        same = own.kind == another.kind
        return same and math.isclose(own.in_base(one.value), another.in_base(other.value), rel_tol=tolerance)
    return math.isclose(one.value, other.value, rel_tol=tolerance)
