"""Parses the tokens of written arithmetic into terms that can be worked through with units."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from soliloquy.truth.arithmetic_policy import LIMITS
from soliloquy.truth.measured_values import Measured, Unworkable, added, measured, multiplied, negative, raised
from soliloquy.truth.units import Unit
from soliloquy.truth.written_arithmetic import PERCENT, Written


class NoArithmetic(Exception):
    """The tokens are not arithmetic."""


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
    "log": "math.log10({})",
    **{name: f"math.{name}(math.radians({{}}))" for name in ("sin", "cos", "tan")},
    **{f"arc{name}": f"math.degrees(math.a{name}({{}}))" for name in ("sin", "cos", "tan")},
}
READINGS = tuple(Reading(*choice) for choice in product((True, False), repeat=4))


class Term(NamedTuple):
    # In Python's notation, without units.
    python: str
    value: Callable[[Reading], Measured]


class Parser:
    """Parses as many tokens as make one term: call `sum`, then look at `at`."""

    def __init__(self, tokens: Sequence[Written]) -> None:
        self.tokens = tokens
        self.at = 0
        self.operations = 0
        self._depth = 0

    def sum(self) -> Term:
        term = self.product()
        while (sign := self._sign("+", "-")) and self._operand_follows():
            self.at += 1
            self.operations += 1
            term = _sum(term, self.product(), 1 if sign == "+" else -1)
        return term

    def product(self) -> Term:
        term = self.sign()
        while True:
            sign = self._sign("*", "/", "of")
            if sign and self._operand_follows():
                self.at += 1
            elif not sign and self._bracket_follows():
                sign = "*"
            else:
                return term
            self.operations += 1
            around = self.tokens[self.at - 2 : self.at + 1]
            factor = self.sign()
            term = _quotient(term, factor, *around) if sign == "/" else _product(term, factor, 1)

    def sign(self) -> Term:
        if self._sign("-"):
            self.at += 1
            inner = self.sign()
            return Term(f"-{inner.python}", lambda reading: negative(inner.value(reading)))
        return self.power()

    def power(self) -> Term:
        base = self.operand()
        token = self._token()
        if token and token.kind == "raised":
            self.at += 1
            self.operations += 1
            exponent = token.value
            return _power(base, Term(f"({exponent:g})", lambda _: measured(exponent, None, 0.0, 0.0, rounded=False)))
        if self._sign("^") and self._operand_follows():
            self.at += 1
            self.operations += 1
            power = _power(base, self.sign())
            own = self.tokens[self.at - 1].unit
            return _with_unit(power, own) if own else power
        return base

    def operand(self) -> Term:
        self._depth += 1
        term = self._operand()
        self._depth -= 1
        return term

    def _operand(self) -> Term:
        token = self._token()
        if token is None or self._depth > LIMITS.brackets:
            raise NoArithmetic
        self.at += 1
        match token.kind:
            case "number":
                value = _measured(token)
                if (rest := self._token()) and (both := _combined(value, rest)):
                    # "1 h 24 min"
                    self.at += 1
                    whole = both
                    return Term(repr(whole.number), lambda _: whole)
                number = _number(token, value)
                follows = self._token()
                if follows and follows.value == math.pi and follows.start == token.end:
                    # "1 / 2π" divides by both.
                    self.at += 1
                    self.operations += 1
                    pi = _measured(follows)
                    tight = _product(number, Term("math.pi", lambda _: pi), 1)
                    return Term(f"({tight.python})", tight.value)
                if follows and follows.kind == "fraction" and follows.start == token.end and token.text.isdigit():
                    return _mixed(number, self.operand())
                return number
            case "open":
                before = self.operations
                inner, own = self._bracket()
                if own is not None and self.operations == before:
                    # The s of "2 (9.8) s" is a symbol.
                    raise NoArithmetic
                return _in_unit(inner, own)
            case "fraction":
                self.operations += 1
                top, _ = self._part()
                bottom, own = self._part()
                return _in_unit(_product(top, bottom, -1), own)
            case "function":
                self.operations += 1
                argument, own = self._part()
                return _in_unit(_function(token.text, argument), own)
        raise NoArithmetic

    def _part(self) -> tuple[Term, Unit | None]:
        """Parses what a fraction or a function applies to, and leaves a unit behind its bracket to the whole."""
        token = self._token()
        if token and token.kind == "open":
            self.at += 1
            return self._bracket()
        return self.power(), None

    def _bracket(self) -> tuple[Term, Unit | None]:
        inner = self.sum()
        closing = self._token()
        if closing is None or closing.kind != "close":
            raise NoArithmetic
        self.at += 1
        return Term(f"({inner.python})", inner.value), closing.unit

    def _token(self) -> Written | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _sign(self, *signs: str) -> str:
        token = self._token()
        return token.text if token and token.kind == "operator" and token.text in signs else ""

    def _operand_follows(self) -> bool:
        follows = self.tokens[self.at + 1 : self.at + 2]
        return bool(follows) and (
            follows[0].kind in ("number", "open", "fraction", "function")
            or (follows[0].kind == "operator" and follows[0].text == "-")
        )

    def _bracket_follows(self) -> bool:
        """Whether a product without a sign goes on: "2(3 + 4)", "(7 - 2) 126", "2π"."""
        token = self._token()
        if token is None:
            return False
        before = self.tokens[self.at - 1]
        if token.kind in ("open", "fraction", "function") or token.value == math.pi:
            return token.kind != "open" or before.kind in ("number", "close")
        return token.kind == "number" and before.kind == "close"


def _measured(token: Written) -> Measured:
    return measured(token.value, token.unit, token.place, token.coarse, rounded=token.rounded)


def _combined(value: Measured, rest: Written) -> Measured | None:
    """Returns the sum of the two parts of one quantity; None if they are not such parts."""
    if rest.kind != "number" or rest.unit is None or not value.closed:
        return None
    smaller = _measured(rest)
    both = added(value, smaller, 1)
    if both.si is None or not value.si or not smaller.si or not 0 < smaller.si < abs(value.si / value.number):
        return None
    # In the unit of the smaller part.
    return replace(smaller, number=both.si / smaller.si * smaller.number, si=both.si, measure="")


def _number(token: Written, value: Measured) -> Term:
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


def _in_unit(term: Term, own: Unit | None) -> Term:
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


def _with_unit(term: Term, own: Unit) -> Term:
    """Applies the unit behind an exponent or a fraction: "12^3 m", "3/4 h"."""
    one = measured(1.0, own, 0.0, 0.0, rounded=False)

    def value(reading: Reading) -> Measured:
        inner = term.value(reading)
        return replace(multiplied(inner, one, 1), closed=inner.closed or not inner.has_unit)

    return Term(term.python, value)


def _quotient(term: Term, factor: Term, top: Written, sign: Written, bottom: Written) -> Term:
    """Reads "3/4 h" as a part of an hour, or as a quotient."""
    quotient = _product(term, factor, -1)
    is_tight = top.end == sign.start and sign.end == bottom.start and top.kind == bottom.kind == "number"
    if not is_tight or top.unit or not bottom.unit:
        return quotient
    parts = Term("", lambda _: measured(bottom.value, None, 0.0, 0.0, rounded=False))
    part = _with_unit(_product(term, parts, -1), bottom.unit)
    return Term(quotient.python, lambda reading: (part if reading.mixed else quotient).value(reading))


def _mixed(whole: Term, fraction: Term) -> Term:
    """Reads "2\\frac{1}{3}" as a mixed number, or as a product."""
    both, product = _sum(whole, fraction, 1), _product(whole, fraction, 1)
    return Term(f"({both.python})", lambda reading: (both if reading.mixed else product).value(reading))


def _sum(one: Term, other: Term, sign: int) -> Term:
    def value(reading: Reading) -> Measured:
        left, right = one.value(reading), other.value(reading)
        if right.percent and not left.percent and reading.share_of_left:
            right = multiplied(left, right, 1)
            share = right.si if right.si is not None else 0.0
            right = Measured(share, share, left.powers, has_unit=left.has_unit, closed=left.closed)
        return added(left, right, sign)

    return Term(f"{one.python} {'+' if sign > 0 else '-'} {other.python}", value)


def _product(one: Term, other: Term, power: int) -> Term:
    return Term(
        f"{one.python} {'*' if power > 0 else '/'} {other.python}",
        lambda reading: multiplied(one.value(reading), other.value(reading), power),
    )


def _power(base: Term, exponent: Term) -> Term:
    return Term(
        f"{base.python} ** {exponent.python}",
        lambda reading: raised(base.value(reading), exponent.value(reading).number),
    )


def _function(name: str, argument: Term) -> Term:
    if name == "sqrt":
        return Term(f"math.sqrt({argument.python})", lambda reading: raised(argument.value(reading), 0.5))

    def value(reading: Reading) -> Measured:
        given = argument.value(reading)
        inverse = name.startswith("arc")
        scale = math.pi / 180 if reading.degrees and not given.has_unit else 1.0
        own = given.number if given.si is None else given.si
        try:
            if inverse:
                angle = getattr(math, name.replace("arc", "a"))(own)
                result = math.degrees(angle) if reading.degrees else angle
            elif name in ("ln", "log"):
                result = math.log(own) if name == "ln" else math.log10(own)
            else:
                result = getattr(math, name)(own * scale)
        except (ValueError, OverflowError) as error:
            raise Unworkable from error
        return Measured(result, result, {})

    return Term(_FUNCTIONS[name].format(argument.python), value)
