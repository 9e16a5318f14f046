"""Terms of written arithmetic: what each comes to, depending on how its text is read."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from soliloquy.truth.measured_values import Measured, Unworkable, added, measured, multiplied, negative, raised
from soliloquy.truth.unit_table import Unit
from soliloquy.truth.written_numbers import PERCENT, Written


class Reading(NamedTuple):
    """Resolves what a text leaves open."""

    # "sin 30" without a unit.
    degrees: bool
    # "50 + 20%" is 60 in a shop.
    share_of_left: bool
    # "2\\frac{1}{3}" is 7/3 in a school book.
    mixed: bool
    # "2 dozen" is 24, or two of something.
    scaled: bool


_FUNCTIONS = {
    "ln": "math.log({})",
    **{name: f"math.{name}(math.radians({{}}))" for name in ("sin", "cos", "tan")},
    **{f"arc{name}": f"math.degrees(math.a{name}({{}}))" for name in ("sin", "cos", "tan")},
}
# A float reaches no further.
_LARGEST_FACTORIAL = 170
READINGS = tuple(Reading(*choice) for choice in product((True, False), repeat=4))


class Term(NamedTuple):
    # In Python's notation, without units.
    python: str
    value: Callable[[Reading], Measured]


def measured_number(token: Written) -> Measured:
    return measured(token.value, token.unit, token.place, token.coarse, rounded=token.rounded)


def combined(value: Measured, rest: Written) -> Measured | None:
    """Returns the sum of the two parts of one quantity; None if they are not such parts."""
    if rest.kind != "number" or rest.unit is None or not value.closed:
        return None
    smaller = measured_number(rest)
    both = added(value, smaller, 1)
    if both.si is None or not value.si or not smaller.si or not 0 < smaller.si < abs(value.si / value.number):
        return None
    # In the unit of the smaller part.
    return replace(smaller, number=both.si / smaller.si * smaller.number, si=both.si, measure="")


def number_term(token: Written, value: Measured) -> Term:
    if token.scale == 1.0:
        return Term(_in_python(token), lambda _: value)
    scaled = measured(
        value.number * token.scale, token.unit, value.place * token.scale, value.coarse * token.scale, rounded=False
    )
    plain = _in_python(token._replace(value=token.value * token.scale))
    return Term(plain, lambda reading: scaled if reading.scaled else value)


def _in_python(number: Written) -> str:
    if number.text == "π":
        return "math.pi"
    plain = repr(number.value).removesuffix(".0")
    return f"({plain} / 100)" if number.unit == PERCENT else plain


def in_unit(term: Term, own: Unit | None) -> Term:
    """Applies the unit behind a bracket: "(3 + 4) m"."""
    if own is None:
        return term
    one = measured(1.0, own, 0.0, 0.0, rounded=False)

    def value(reading: Reading) -> Measured:
        inner = term.value(reading)
        if inner.has_unit:
            raise Unworkable
        return multiplied(inner, one, 1)

    return Term(term.python, value)


def with_unit(term: Term, own: Unit) -> Term:
    """Applies the unit behind an exponent or a fraction: "12^3 m", "3/4 h"."""
    one = measured(1.0, own, 0.0, 0.0, rounded=False)

    def value(reading: Reading) -> Measured:
        inner = term.value(reading)
        return replace(multiplied(inner, one, 1), closed=inner.closed or not inner.has_unit)

    return Term(term.python, value)


def quotient(term: Term, factor: Term, top: Written, sign: Written, bottom: Written) -> Term:
    """Reads "3/4 h" as a part of an hour, or as a quotient."""
    divided = product_of(term, factor, -1)
    is_tight = top.end == sign.start and sign.end == bottom.start and top.kind == bottom.kind == "number"
    if not is_tight or top.unit or not bottom.unit:
        return divided
    parts = Term("", lambda _: measured(bottom.value, None, 0.0, 0.0, rounded=False))
    part = with_unit(product_of(term, parts, -1), bottom.unit)
    return Term(divided.python, lambda reading: (part if reading.mixed else divided).value(reading))


def mixed(whole: Term, fraction: Term) -> Term:
    """Reads "2\\frac{1}{3}" as a mixed number, or as a product."""
    both, product = sum_of(whole, fraction, 1), product_of(whole, fraction, 1)
    return Term(f"({both.python})", lambda reading: (both if reading.mixed else product).value(reading))


def sum_of(one: Term, other: Term, sign: int) -> Term:
    def value(reading: Reading) -> Measured:
        left, right = one.value(reading), other.value(reading)
        if right.percent and not left.percent and reading.share_of_left:
            right = multiplied(left, right, 1)
            share = right.si if right.si is not None else 0.0
            right = Measured(share, share, left.powers, has_unit=left.has_unit, closed=left.closed)
        return added(left, right, sign)

    return Term(f"{one.python} {'+' if sign > 0 else '-'} {other.python}", value)


def product_of(one: Term, other: Term, power: int) -> Term:
    return Term(
        f"{one.python} {'*' if power > 0 else '/'} {other.python}",
        lambda reading: multiplied(one.value(reading), other.value(reading), power),
    )


def power_of(base: Term, exponent: Term) -> Term:
    return Term(
        f"{base.python} ** {exponent.python}",
        lambda reading: raised(base.value(reading), exponent.value(reading).number),
    )


def function_of(name: str, argument: Term) -> Term:
    if name == "sqrt":
        return Term(f"math.sqrt({argument.python})", lambda reading: _root(argument.value(reading)))

    def value(reading: Reading) -> Measured:
        given = argument.value(reading)
        inverse = name.startswith("arc")
        scale = math.pi / 180 if reading.degrees and not given.has_unit else 1.0
        own = given.number if given.si is None else given.si
        try:
            if inverse:
                angle = getattr(math, name.replace("arc", "a"))(own)
                result = math.degrees(angle) if reading.degrees else angle
            elif name == "ln":
                result = math.log(own)
            elif name.startswith("log"):
                result = math.log(own, _base(name))
            else:
                result = getattr(math, name)(own * scale)
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            raise Unworkable from error
        return Measured(result, result, {})

    if name.startswith("log"):
        return Term(f"(math.log({argument.python}) / math.log({_base(name)}))", value)
    return Term(_FUNCTIONS[name].format(argument.python), value)


def _root(given: Measured) -> Measured:
    """Returns the root; in "√169 N" the unit is that of the root."""
    root = raised(given, 0.5)
    if given.si is None or not given.number or all(power % 1 == 0 for power in root.powers.values()):
        return root
    return replace(root, si=root.number * given.si / given.number, powers=given.powers)


def _base(logarithm: str) -> int:
    return int(logarithm.removeprefix("log") or 10)


def absolute(term: Term) -> Term:
    def value(reading: Reading) -> Measured:
        inner = term.value(reading)
        return negative(inner) if inner.number < 0 else inner

    return Term(f"abs({term.python})", value)


def factorial_of(term: Term) -> Term:
    def value(reading: Reading) -> Measured:
        number = term.value(reading).number
        if number % 1 or not 0 <= number <= _LARGEST_FACTORIAL:
            raise Unworkable
        product = float(math.factorial(int(number)))
        return Measured(product, product, {})

    return Term(f"math.factorial({term.python})", value)
