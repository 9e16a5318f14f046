"""Parses the tokens of written arithmetic into terms that can be worked through with units."""

import math
from collections.abc import Sequence

from soliloquy.truth.arithmetic_policy import LIMITS
from soliloquy.truth.arithmetic_terms import (
    Term,
    absolute,
    combined,
    factorial_of,
    function_of,
    in_unit,
    measured_number,
    mixed,
    number_term,
    power_of,
    product_of,
    quotient,
    sum_of,
    with_unit,
)
from soliloquy.truth.measured_values import measured, negative
from soliloquy.truth.unit_table import Unit
from soliloquy.truth.written_numbers import Written


class NoArithmetic(Exception):
    """The tokens are not arithmetic."""


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
            term = sum_of(term, self.product(), 1 if sign == "+" else -1)
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
            term = quotient(term, factor, *around) if sign == "/" else product_of(term, factor, 1)

    def sign(self) -> Term:
        if self._sign("-"):
            self.at += 1
            inner = self.sign()
            return Term(f"-{inner.python}", lambda reading: negative(inner.value(reading)))
        return self.power()

    def power(self) -> Term:
        base = self.operand()
        while (token := self._token()) and token.kind == "factorial":
            self.at += 1
            self.operations += 1
            base = factorial_of(base)
        if token and token.kind == "raised":
            self.at += 1
            self.operations += 1
            exponent = token.value
            return power_of(base, Term(f"({exponent:g})", lambda _: measured(exponent, None, 0.0, 0.0, rounded=False)))
        if self._sign("^") and self._operand_follows():
            self.at += 1
            self.operations += 1
            power = power_of(base, self.sign())
            own = self.tokens[self.at - 1].unit
            return with_unit(power, own) if own else power
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
                value = measured_number(token)
                if (rest := self._token()) and (both := combined(value, rest)):
                    # "1 h 24 min"
                    self.at += 1
                    whole = both
                    return Term(repr(whole.number), lambda _: whole)
                number = number_term(token, value)
                follows = self._token()
                if follows and follows.value == math.pi and follows.start == token.end:
                    # "1 / 2π" divides by both.
                    self.at += 1
                    self.operations += 1
                    pi = measured_number(follows)
                    tight = product_of(number, Term("math.pi", lambda _: pi), 1)
                    return Term(f"({tight.python})", tight.value)
                if follows and follows.kind == "fraction" and follows.start == token.end and token.text.isdigit():
                    return mixed(number, self.operand())
                return number
            case "open":
                before = self.operations
                inner, own = self._bracket()
                if token.text == "|":
                    self.operations += 1
                    return absolute(inner)
                if own is not None and self.operations == before:
                    # The s of "2 (9.8) s" is a symbol.
                    raise NoArithmetic
                return in_unit(inner, own)
            case "fraction":
                self.operations += 1
                top, _ = self._part()
                bottom, own = self._part()
                return in_unit(product_of(top, bottom, -1), own)
            case "function":
                self.operations += 1
                argument, own = self._part()
                return in_unit(function_of(token.text, argument), own)
        raise NoArithmetic

    def _part(self) -> tuple[Term, Unit | None]:
        """Parses what a fraction or a function applies to, and leaves a unit behind its bracket to the whole."""
        token = self._token()
        if token and token.kind == "open":
            self.at += 1
            return self._bracket()
        return self.power(), None

    def _bracket(self) -> tuple[Term, Unit | None]:
        start = self.at
        inner = self.sum()
        closing, opening = self._token(), self.tokens[start - 1]
        if closing is None or closing.kind != "close" or (closing.text == "|") != (opening.text == "|"):
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
