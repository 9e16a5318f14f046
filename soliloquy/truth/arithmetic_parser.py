"""Parses the tokens of written arithmetic and works them through with their units."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from soliloquy.truth.arithmetic_policy import MOST_BRACKETS
from soliloquy.truth.measured_values import (
    Measured,
    Unworkable,
    added,
    combined,
    measured,
    measured_number,
    multiplied,
    negative,
    raised,
)
from soliloquy.truth.unit_table import Unit
from soliloquy.truth.written_arithmetic import PERCENT, Written

# The second meaning of what a text leaves open: "sin 30" in radians, "50 + 20%" as 50.2, "2\\frac{1}{3}" as a product
# and "3/4 h" as a quotient, "2 dozen" as two of something.
Meaning = Literal["", "radians", "plain share", "product", "things"]


class Term(NamedTuple):
    # In Python's notation, without units.
    python: str
    value: Measured


class Reading(NamedTuple):
    """A term that the first tokens are, the position behind it, and how many operations it has."""

    term: Term
    at: int
    operations: int


def readings(tokens: Sequence[Written], *, is_operand: bool = False) -> Iterator[Reading]:
    """Yields what tokens begin with as most people mean it, then with each second meaning in turn."""
    meanings: list[Meaning] = [""]
    for meaning in meanings:
        parser = _Parser(tokens, meaning)
        try:
            term = parser.sign() if is_operand else parser.sum()
        except Unworkable:
            pass
        else:
            yield Reading(term, parser.at, parser.operations)
        meanings += [one for one in parser.met if one not in meanings]


class _Parser:
    def __init__(self, tokens: Sequence[Written], meaning: Meaning) -> None:
        self.tokens = tokens
        self.at = 0
        self.operations = 0
        self.met: dict[Meaning, None] = {}
        self._meaning = meaning
        self._depth = 0

    def sum(self) -> Term:
        term = self._product()
        while (sign := self._sign("+", "-")) and self._operand_follows():
            self._take_operator()
            other = self._product()
            right = other.value
            if right.percent and not term.value.percent and not self._means("plain share"):
                # "50 + 20%" is 60 in a shop.
                share = multiplied(term.value, right, 1)
                own = share.si if share.si is not None else 0.0
                right = replace(term.value, number=own, si=own, place=0.0, coarse=0.0, slack=0.0)
            total = added(term.value, right, 1 if sign == "+" else -1)
            term = Term(f"{term.python} {sign} {other.python}", total)
        return term

    def _product(self) -> Term:
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
            start = self.at
            before, factor = term, self.sign()
            term = _times(before, factor, -1 if sign == "/" else 1)
            if (
                sign == "/"
                and (own := _unit_of_part(self.tokens[start - 2 : start + 1]))
                and not self._means("product")
            ):
                # "3/4 h"
                plain = Term(factor.python, replace(factor.value, si=factor.value.number, powers={}, has_unit=False))
                term = _with_unit(_times(before, plain, -1), own)

    def sign(self) -> Term:
        if self._sign("-"):
            self.at += 1
            inner = self.sign()
            return Term(f"-{inner.python}", negative(inner.value))
        return self._power()

    def _power(self) -> Term:
        base = self._operand()
        if (token := self._token()) and token.kind == "raised":
            self._take_operator()
            return Term(f"{base.python} ** ({token.value:g})", raised(base.value, token.value))
        if self._sign("^") and self._operand_follows():
            self._take_operator()
            exponent = self.sign()
            power = Term(f"{base.python} ** {exponent.python}", raised(base.value, exponent.value.number))
            return _with_unit(power, self.tokens[self.at - 1].unit)
        return base

    def _operand(self) -> Term:
        token = self._token()
        if token is None or self._depth > MOST_BRACKETS:
            raise Unworkable
        self.at += 1
        self._depth += 1
        match token.kind:
            case "number":
                term = self._number(token)
            case "open":
                before = self.operations
                term, own = self._bracket()
                if own is not None and self.operations == before:
                    # The s of "2 (9.8) s" is a symbol.
                    raise Unworkable
                term = _in_unit(term, own)
            case "fraction":
                self.operations += 1
                top, _ = self._part()
                bottom, own = self._part()
                term = _in_unit(_times(top, bottom, -1), own)
            case "function":
                self.operations += 1
                argument, own = self._part()
                term = _in_unit(self._function(token.text, argument), own)
            case _:
                raise Unworkable
        self._depth -= 1
        return term

    def _number(self, token: Written) -> Term:
        follows = self._token()
        value = measured_number(token)
        if follows and follows.kind == "number" and (both := combined(value, follows)):
            # "1 h 24 min"
            self.at += 1
            return Term(repr(both.number), both)
        if token.scale != 1.0:
            token = token._replace(value=token.value * token.scale, place=token.place * token.scale, rounded=False)
            value = value if self._means("things") else measured_number(token)
        plain = "math.pi" if token.text == "π" else repr(token.value).removesuffix(".0")
        number = Term(f"({plain} / 100)" if token.unit == PERCENT else plain, value)
        if follows is None or follows.start != token.end:
            return number
        if follows.value == math.pi:
            # "1 / 2π" divides by both.
            self._take_operator()
            tight = _times(number, Term("math.pi", measured_number(follows)), 1)
            return Term(f"({tight.python})", tight.value)
        if follows.kind == "fraction" and token.text.isdigit():
            fraction = self._operand()
            if self._means("product"):
                return _times(number, fraction, 1)
            return Term(f"({number.python} + {fraction.python})", added(value, fraction.value, 1))
        return number

    def _function(self, name: str, argument: Term) -> Term:
        inner, given = argument
        if name == "sqrt":
            return Term(f"math.sqrt({inner})", _root(given))
        own = given.number if given.si is None else given.si
        try:
            if name.startswith("l"):
                base = math.e if name == "ln" else int(name.removeprefix("log") or 10)
                python = f"math.log({inner})" if name == "ln" else f"(math.log({inner}) / math.log({base}))"
                result = math.log(own) if name == "ln" else math.log(own, base)
            elif name.startswith("arc"):
                python = f"math.degrees(math.{name.replace('arc', 'a')}({inner}))"
                angle = getattr(math, name.replace("arc", "a"))(own)
                result = angle if self._means("radians") else math.degrees(angle)
            else:
                python = f"math.{name}(math.radians({inner}))"
                is_angle = given.has_unit or self._means("radians")
                result = getattr(math, name)(own if is_angle else math.radians(own))
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            raise Unworkable from error
        return Term(python, Measured(result, result, {}))

    def _part(self) -> tuple[Term, Unit | None]:
        """Parses what a fraction or a function applies to, and leaves a unit behind its bracket to the whole."""
        token = self._token()
        if token and token.kind == "open":
            self.at += 1
            return self._bracket()
        return self._power(), None

    def _bracket(self) -> tuple[Term, Unit | None]:
        inner = self.sum()
        closing = self._token()
        if closing is None or closing.kind != "close":
            raise Unworkable
        self.at += 1
        return Term(f"({inner.python})", inner.value), closing.unit

    def _token(self) -> Written | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _take_operator(self) -> None:
        self.at += 1
        self.operations += 1

    def _sign(self, *signs: str) -> str:
        token = self._token()
        return token.text if token and token.kind == "operator" and token.text in signs else ""

    def _operand_follows(self) -> bool:
        follows = self.tokens[self.at + 1 : self.at + 2]
        kinds = ("number", "open", "fraction", "function")
        return bool(follows) and (
            follows[0].kind in kinds or (follows[0].kind == "operator" and follows[0].text == "-")
        )

    def _bracket_follows(self) -> bool:
        """Whether a product without a sign goes on: "2(3 + 4)", "(7 - 2) 126", "2π"."""
        token = self._token()
        if token is None:
            return False
        before = self.tokens[self.at - 1].kind
        if token.kind in ("fraction", "function") or token.value == math.pi:
            return True
        return (token.kind == "open" and before in ("number", "close")) or (
            token.kind == "number" and before == "close"
        )

    def _means(self, meaning: Meaning) -> bool:
        self.met[meaning] = None
        return self._meaning == meaning


def _times(one: Term, other: Term, power: int) -> Term:
    return Term(f"{one.python} {'*' if power > 0 else '/'} {other.python}", multiplied(one.value, other.value, power))


def _unit_of_part(quotient: Sequence[Written]) -> Unit | None:
    top, slash, bottom = quotient
    is_tight = top.end == slash.start and slash.end == bottom.start and top.kind == bottom.kind == "number"
    return bottom.unit if is_tight and not top.unit else None


def _in_unit(term: Term, own: Unit | None) -> Term:
    """Applies the unit behind a bracket: "(3 + 4) m"."""
    if own is None:
        return term
    if term.value.has_unit:
        raise Unworkable
    return Term(term.python, multiplied(term.value, measured(1.0, own, 0.0, 0.0, rounded=False), 1))


def _with_unit(term: Term, own: Unit | None) -> Term:
    """Applies the unit behind an exponent or a fraction: "12^3 m", "3/4 h"."""
    if own is None:
        return term
    whole = multiplied(term.value, measured(1.0, own, 0.0, 0.0, rounded=False), 1)
    return Term(term.python, replace(whole, closed=term.value.closed or not term.value.has_unit))


def _root(given: Measured) -> Measured:
    """Returns the root; in "√169 N" the unit is that of the root."""
    root = raised(given, 0.5)
    if given.si is None or not given.number or all(power % 1 == 0 for power in root.powers.values()):
        return root
    return replace(root, si=root.number * given.si / given.number, powers=given.powers)
