"""Compares the equations of a text in one unknown with the one before: "2x + 6 = 20, so 2x = 26" is a contradiction."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from soliloquy.truth.arithmetic_parser import Reading, readings
from soliloquy.truth.arithmetic_policy import EXACT, MOST_TOKENS, SOLUTION, WORDS
from soliloquy.truth.arithmetic_words import without_words
from soliloquy.truth.calculations import sides_of
from soliloquy.truth.measured_values import Unworkable, agree, is_rounded
from soliloquy.truth.written_arithmetic import ROUGHLY, Written, may_calculate, tokens_of

_SIGNS = frozenset(["=", *ROUGHLY])


@dataclass(frozen=True, kw_only=True)
class Equation:
    text: str
    start: int
    end: int
    symbol: str
    left: Sequence[Written]
    right: Sequence[Written]
    # "if x = 3"
    is_supposed: bool
    # Whether it has two sides only, and works nothing out.
    is_short: bool

    @cached_property
    def stated(self) -> Reading | None:
        """The value of the unknown, if it stands alone: "x = 28 / 4"."""
        is_value = len(self.left) == 1 and all(token.kind != "word" for token in self.right)
        return _read(self.right) if is_value else None

    @property
    def is_number(self) -> bool:
        return self.stated is not None and not self.stated.operations

    @property
    def units(self) -> set[str]:
        return {token.unit.measure for token in (*self.left, *self.right) if token.unit}

    def difference(self, value: float) -> float:
        """Returns the difference of the sides at a value of the unknown; raises Unworkable."""
        left, right = (
            _read([part for one in side for part in _filled(one, value)]) for side in (self.left, self.right)
        )
        return left.term.value.number - right.term.value.number

    @cached_property
    def root(self) -> float | None:
        """Returns the solution of a linear equation; None for any other."""
        try:
            at_0, at_1, at_3 = (self.difference(value) for value in (0.0, 1.0, 3.0))
        except Unworkable:
            return None
        slope = at_1 - at_0
        is_line = math.isclose(at_3 - at_0, 3 * slope, rel_tol=EXACT, abs_tol=EXACT)
        return -at_0 / slope if is_line and slope else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    before: Equation | None
    after: Equation
    # None if the two cannot be compared, or if there is nothing before.
    holds: bool | None


def comparisons_in(text: str) -> Iterator[Comparison]:
    """Yields every equation of a text with an earlier one that it follows from or contradicts."""
    before: dict[str, Equation] = {}
    values: dict[str, Equation] = {}
    # With several solutions, an equation for one of them does not contradict that of another.
    branched: set[str] = set()
    for equation in _equations_in(text):
        symbol = equation.symbol
        known = before.pop(symbol, None)
        if equation.is_number:
            values[symbol] = equation
        elif (value := values.get(symbol)) and _follows(equation, value):
            # Works out one side for a value: "for x = 3, 2x + 1 = 7".
            yield Comparison(before=value, after=equation, holds=True)
            continue
        if equation.is_supposed:
            yield Comparison(before=None, after=equation, holds=None)
            continue
        holds = _follows(known, equation) if known else None
        yield Comparison(before=known, after=equation, holds=None if holds is False and symbol in branched else holds)
        if known and not equation.stated and known.root is None and equation.root is not None:
            branched.add(symbol)
        if not equation.is_number:
            before[symbol] = equation


def _equations_in(text: str) -> Iterator[Equation]:
    """Yields the equations that hold one unknown, of a single letter."""
    if not may_calculate(text):
        return
    clause: list[Written] = []
    word = ""
    for token in (*without_words(tokens_of(text)), Written("break", "", len(text), len(text))):
        is_word = token.kind == "word" and len(token.text) > 1
        if not (token.kind == "break" or is_word or (token.kind == "equals" and token.text not in _SIGNS)):
            clause.append(token)
            continue
        if 3 <= len(clause) <= MOST_TOKENS and (found := _equation(clause, text, word)):
            yield found
        # A subscript is no end: the rest of "m_1 v = 20" says nothing of v.
        clause = [token] if token.kind == "break" and token.text.startswith("_") else []
        word = "" if token.kind == "break" else token.text.lower()


def _equation(clause: Sequence[Written], text: str, word: str) -> Equation | None:
    """Returns the first side of a chain that has the unknown, and the last other side that is arithmetic."""
    first, second = clause[:2]
    if first.kind == "operator" and (word != "" or first.end < second.start):
        # A dash.
        return None
    sides, _ = sides_of(clause)
    names = [{token.text for token in side if token.kind == "word"} for side in sides]
    named = [(next(iter(own)), side) for own, side in zip(names, sides, strict=True) if len(own) == 1]
    if len({symbol for symbol, _ in named}) != 1 or not sides[0]:
        return None
    symbol, left = named[0]
    plain = [side for own, side in zip(names, sides, strict=True) if side and len(own) < 2 and side is not left]
    if not plain:
        return None
    right = plain[-1]
    found = Equation(
        text=text[clause[0].start : clause[-1].end].strip(),
        start=clause[0].start,
        end=clause[-1].end,
        symbol=symbol,
        left=[part for token in left for part in _parted(token, symbol)],
        right=[part for token in right for part in _parted(token, symbol)],
        is_supposed=word in WORDS["supposes"],
        is_short=len(sides) == 2,
    )
    try:
        found.difference(1.0)
    except Unworkable:
        return None
    return found


def _parted(token: Written, symbol: str) -> list[Written]:
    """Takes the unknown off a number that has it for its unit: "2C = C + 3"."""
    if token.unit is None or not re.fullmatch(rf"[\d.,]+{symbol}", token.text):
        return [token]
    return [token._replace(unit=None), Written("word", symbol, token.end - 1, token.end)]


def _filled(token: Written, value: float) -> list[Written]:
    """Puts a number in brackets for the unknown, which makes "2x" a product."""
    if token.kind != "word":
        return [token]
    return [token._replace(kind="open"), token._replace(kind="number", value=value), token._replace(kind="close")]


def _read(tokens: Sequence[Written]) -> Reading:
    found = next(readings(tokens), None)
    if found is None or found.at != len(tokens):
        raise Unworkable
    return found


def _follows(before: Equation, after: Equation) -> bool | None:
    """Whether an equation agrees with the one before it; None if that cannot be said."""
    if before.stated:
        if after.stated is None or not (after.is_number and after.is_short):
            return None
        told = after.stated.term.value
        return any(agree(one.term.value, told, about=False) for one in readings(before.right))
    if len(before.units | after.units) > 1:
        return None
    if after.stated:
        try:
            return _solves(before, after.stated.term.value.number, after.right[-1].place)
        except Unworkable:
            return None
    return None if before.root is None or after.root is None else _near(before.root, after.root)


def _solves(equation: Equation, value: float, place: float) -> bool:
    """Whether an equation holds for a stated value, as far as its last digit tells."""
    if equation.root is not None:
        return is_rounded(value, equation.root) or (value % 1 != 0 and _near(value, equation.root))
    margin = max(place if place < 1 else place / 2, SOLUTION * abs(value), EXACT)
    return equation.difference(value - margin) * equation.difference(value + margin) <= 0


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=SOLUTION, abs_tol=EXACT)
