"""Parses the tokens of written arithmetic into Python's trees, and works them through with their units."""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from soliloquy.truth.arithmetic_policy import MOST_BRACKETS
from soliloquy.truth.expressions import Unworkable, calculation
from soliloquy.truth.measured_values import Measured, combined, measured, measured_number
from soliloquy.truth.unit_algebra import UNITS
from soliloquy.truth.unit_table import Unit, powers_of
from soliloquy.truth.written_arithmetic import PERCENT, Written

# How strongly an operator binds; a sign before a number binds as strongly as `_SIGN`.
_BINDING: Mapping[str, tuple[int, type[ast.operator]]] = {
    "+": (1, ast.Add),
    "-": (1, ast.Sub),
    "*": (2, ast.Mult),
    "of": (2, ast.Mult),
    "/": (2, ast.Div),
    # "1 / 2π" divides by both.
    "π": (3, ast.Mult),
    "^": (4, ast.Pow),
}
_SUM, _SIGN, _POWER = 1, 3, 4
_OPERANDS = frozenset(["number", "open", "fraction", "function"])
# A number in a tree, and a unit that is applied to what stands before it.
_LEAF, _UNIT = re.compile(r"\bn\d+\b"), re.compile(r" @ n\d+\b")


class Reading(NamedTuple):
    """The value of the first tokens, the position behind them, and how many operations they have."""

    value: Measured
    at: int
    operations: int
    tree: ast.expr
    # The numbers of the tree, by their names in it.
    shown: Mapping[str, str]
    # Whether others may mean something else: "sin 30" of radians, a product with "2\\frac{1}{3}".
    is_ambiguous: bool

    @property
    def python(self) -> str:
        """The arithmetic in Python's notation, without units."""
        return _LEAF.sub(lambda leaf: self.shown[leaf[0]], _UNIT.sub("", ast.unparse(self.tree)))


def reading(tokens: Sequence[Written], *, is_operand: bool = False) -> Reading | None:
    """Returns what tokens begin with as most people mean it, "sin 30" of degrees; None if that is no arithmetic."""
    parser = _Parser(tokens)
    try:
        tree = parser.parse(_SIGN if is_operand else _SUM)
        value = calculation(tree, UNITS)(parser.values)
    except Unworkable:
        return None
    return Reading(value, parser.at, parser.operations, tree, parser.shown, parser.is_ambiguous)


class _Parser:
    def __init__(self, tokens: Sequence[Written]) -> None:
        self.tokens = tokens
        self.at = self.operations = 0
        self.values: dict[str, Measured] = {}
        self.shown: dict[str, str] = {}
        self.is_ambiguous = False
        self._depth = 0

    def parse(self, least: int) -> ast.expr:
        tree = self._operand()
        while (sign := self._sign()) and _BINDING[sign][0] >= least:
            binding, operator = _BINDING[sign]
            start = self.at
            self.at += self.tokens[start].kind == "operator"
            self.operations += 1
            tree = ast.BinOp(tree, operator(), self.parse(_POWER if sign == "^" else binding + 1))
            is_power = sign == "^" and self.tokens[self.at - 1].kind == "number"
            if is_power or (self.at == start + 2 and self._is_below_line(start + 1)):
                # "12^3 m", "3/4 h"
                tree = self._in_unit(tree, self.tokens[self.at - 1].unit, is_closed=True)
        return tree

    def _sign(self) -> str:
        """Returns the operator that stands here if an operand follows it; a product may have none: "2(3 + 4)"."""
        token, follows = self._token(), self._token(1)
        if token is None or token.kind == "operator":
            is_negative = follows is not None and follows.text == "-" and follows.kind == "operator"
            return token.text if token and follows and (is_negative or follows.kind in _OPERANDS) else ""
        before = self.tokens[self.at - 1]
        if token.text == "π":
            return "π" if before.kind == "number" and before.end == token.start else "*"
        is_bracket = token.kind == "open" and before.kind in ("number", "close")
        is_behind = token.kind == "number" and before.kind == "close"
        return "*" if token.kind in ("fraction", "function") or is_bracket or is_behind else ""

    def _operand(self) -> ast.expr:
        token = self._token()
        self._depth += 1
        if token is None or self._depth > MOST_BRACKETS:
            raise Unworkable
        self.at += 1
        match token.kind:
            case "operator" if token.text == "-":
                tree: ast.expr = ast.UnaryOp(ast.USub(), self.parse(_SIGN))
            case "number":
                is_part = self.at > 1 and (self.tokens[self.at - 2].text == "^" or self._is_below_line(self.at - 1))
                tree = self._number(token._replace(unit=None) if is_part else token)
            case "open":
                before = self.operations
                tree, own = self._bracket()
                if own is not None and self.operations == before:
                    # The s of "2 (9.8) s" is a symbol.
                    raise Unworkable
                tree = self._in_unit(tree, own)
            case "fraction":
                self.operations += 1
                top, _ = self._part()
                bottom, own = self._part()
                tree = self._in_unit(ast.BinOp(top, ast.Div(), bottom), own)
            case "function":
                self.operations += 1
                argument, own = self._part()
                tree = self._in_unit(self._function(token.text, argument), own)
            case _:
                raise Unworkable
        if (raised := self._token()) and raised.kind == "raised":
            self.at += 1
            self.operations += 1
            tree = ast.BinOp(tree, ast.Pow(), self._plain(raised.value))
        self._depth -= 1
        return tree

    def _number(self, token: Written) -> ast.expr:
        follows = self._token()
        if follows and follows.kind == "number" and (both := combined(measured_number(token), follows)):
            # "1 h 24 min"
            self.at += 1
            return self._leaf(both, repr(both.number))
        if token.scale != 1.0:
            token = token._replace(value=token.value * token.scale, place=token.place * token.scale, rounded=False)
        plain = "math.pi" if token.text == "π" else repr(token.value).removesuffix(".0")
        number = self._leaf(measured_number(token), f"({plain} / 100)" if token.unit == PERCENT else plain)
        if follows and follows.kind == "fraction" and follows.start == token.end and token.text.isdigit():
            self.is_ambiguous = True
            return ast.BinOp(number, ast.Add(), self._operand())
        return number

    def _function(self, name: str, argument: ast.expr) -> ast.expr:
        if name.startswith("log"):
            base = self._plain(float(name.removeprefix("log") or 10))
            return ast.BinOp(_call("log", argument), ast.Div(), _call("log", base))
        if name in ("ln", "sqrt"):
            return _call(name.replace("ln", "log"), argument)
        if name.startswith("arc"):
            return _call("degrees", _call(name.replace("arc", "a"), argument))
        self.is_ambiguous = True
        return _call(name, _call("radians", argument))

    def _part(self) -> tuple[ast.expr, Unit | None]:
        """Parses what a fraction or a function applies to, and leaves a unit behind it to the whole: "√169 N"."""
        token = self._token()
        if token and token.kind == "open":
            self.at += 1
            return self._bracket()
        if token and token.unit and any(power % 2 for power in powers_of(token.unit.kind).values()):
            self.at += 1
            return self._number(token._replace(unit=None)), token.unit
        return self.parse(_POWER), None

    def _bracket(self) -> tuple[ast.expr, Unit | None]:
        inner = self.parse(_SUM)
        closing = self._token()
        if closing is None or closing.kind != "close":
            raise Unworkable
        self.at += 1
        return inner, closing.unit

    def _is_below_line(self, at: int) -> bool:
        """Whether a number is the bottom of a fraction in one line, which has the unit behind it: "3/4 h"."""
        top, sign, bottom = self.tokens[at - 2 : at + 1] if at > 1 else [self.tokens[at]] * 3
        is_tight = top.end == sign.start and sign.end == bottom.start
        return is_tight and top.kind == bottom.kind == "number" and sign.text == "/" and not top.unit

    def _in_unit(self, tree: ast.expr, own: Unit | None, *, is_closed: bool = False) -> ast.expr:
        """Applies the unit behind a fraction, an exponent or a bracket, which may also be a symbol: "(1/2) m"."""
        if own is None:
            return tree
        one = replace(measured(1.0, own), closed=is_closed)
        return ast.BinOp(tree, ast.MatMult(), self._leaf(one, ""))

    def _plain(self, number: float) -> ast.expr:
        return self._leaf(Measured(number, number, {}), f"{number:g}")

    def _leaf(self, value: Measured, shown: str) -> ast.expr:
        name = f"n{len(self.values)}"
        self.values[name], self.shown[name] = value, shown
        return ast.Name(name)

    def _token(self, ahead: int = 0) -> Written | None:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else None


def _call(name: str, argument: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(ast.Name("math"), name), [argument], [])
