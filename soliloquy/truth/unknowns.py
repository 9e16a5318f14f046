"""Finds equations in one unknown that contradict each other: "2x + 6 = 20, so 2x = 26".

An equation is compared with the one before it in the same unknown, until a value of the unknown is stated.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from soliloquy.truth.arithmetic_parser import NoArithmetic, Parser
from soliloquy.truth.arithmetic_policy import LIMITS, TOLERANCES, WORDS
from soliloquy.truth.arithmetic_terms import READINGS, Term
from soliloquy.truth.arithmetic_words import without_words
from soliloquy.truth.measured_values import Unworkable, agree, is_rounded
from soliloquy.truth.written_arithmetic import ROUGHLY, may_calculate, tokens_of
from soliloquy.truth.written_numbers import Written

_SIGNS = frozenset(["=", *ROUGHLY])


@dataclass(frozen=True, kw_only=True, slots=True)
class Equation:
    text: str
    start: int
    end: int
    symbol: str
    left: Sequence[Written]
    right: Sequence[Written]
    # "if x = 3"
    is_supposed: bool
    sides: int

    @property
    def is_value(self) -> bool:
        """Whether the unknown stands alone: "x = 28 / 4"."""
        return len(self.left) == 1 and not self._has_unknown(self.right)

    @property
    def is_number(self) -> bool:
        return self.is_value and not _parsed(self.right)[1]

    @property
    def is_statement(self) -> bool:
        """Whether the equation states a number and does not work it out."""
        return self.is_number and self.sides == 2

    @property
    def units(self) -> set[str]:
        return {token.unit.measure for token in (*self.left, *self.right) if token.unit}

    def difference(self, value: float) -> float:
        """Returns the difference of the sides at a value of the unknown; raises Unworkable."""
        left, right = (_parsed(self._with_value(side, value))[0] for side in (self.left, self.right))
        return left.value(READINGS[0]).number - right.value(READINGS[0]).number

    def root(self) -> float | None:
        """Returns the solution of a linear equation; None for any other."""
        at_0, at_1, at_3 = (self.difference(value) for value in (0.0, 1.0, 3.0))
        slope = at_1 - at_0
        is_line = math.isclose(at_3 - at_0, 3 * slope, rel_tol=TOLERANCES.exact, abs_tol=TOLERANCES.exact)
        return -at_0 / slope if is_line and slope else None

    def _has_unknown(self, side: Iterable[Written]) -> bool:
        return any(token.kind == "word" for token in side)

    def _with_value(self, side: Iterable[Written], value: float) -> list[Written]:
        """Puts a number in brackets for the unknown, which makes "2x" a product."""
        filled: list[Written] = []
        for token in side:
            number = token._replace(kind="number", value=value)
            is_unknown = token.kind == "word"
            filled += [token._replace(kind="open"), number, token._replace(kind="close")] if is_unknown else [token]
        return filled


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    before: Equation | None
    after: Equation
    # None if the two cannot be compared, or if there is nothing before.
    holds: bool | None


def contradictions_in(text: str) -> Iterator[tuple[Equation, Equation]]:
    """Yields the pairs of equations that contradict each other, the earlier one first."""
    for found in comparisons_in(text):
        if found.before and found.holds is False:
            yield found.before, found.after


def comparisons_in(text: str) -> Iterator[Comparison]:
    """Yields every equation of a text with an earlier one that it follows from or contradicts."""
    before: dict[str, Equation] = {}
    values: dict[str, Equation] = {}
    # With several solutions, an equation for one of them does not contradict that of another.
    branched: set[str] = set()
    for equation in equations_in(text):
        known = before.pop(equation.symbol, None)
        if equation.is_number:
            values[equation.symbol] = equation
        elif (value := values.get(equation.symbol)) and _solves(equation, value):
            # Works out one side for a value: "for x = 3, 2x + 1 = 7".
            yield Comparison(before=value, after=equation, holds=True)
            continue
        if equation.is_supposed:
            yield Comparison(before=None, after=equation, holds=None)
            continue
        holds = _follows(known, equation) if known else None
        if holds is False and equation.symbol in branched:
            holds = None
        yield Comparison(before=known, after=equation, holds=holds)
        if known and not equation.is_value and _root(known) is None and _root(equation) is not None:
            branched.add(equation.symbol)
        if not equation.is_number:
            before[equation.symbol] = equation


def equations_in(text: str) -> Iterator[Equation]:
    """Yields the equations that hold one unknown, of a single letter."""
    if not may_calculate(text):
        return
    clause: list[Written] = []
    word = ""
    for token in (*without_words(tokens_of(text)), Written("break", "", len(text), len(text))):
        is_word = token.kind == "word" and len(token.text) > 1
        ends = token.kind == "break" or is_word or (token.kind == "equals" and token.text not in _SIGNS)
        if not ends:
            clause.append(token)
            continue
        if clause and (found := _equation(clause, text, word)):
            yield found
        # A subscript is no end: the rest of "m_1 v = 20" says nothing of v.
        clause = [token] if token.kind == "break" and token.text.startswith("_") else []
        word = "" if token.kind == "break" else token.text.lower()


def _equation(clause: Sequence[Written], text: str, word: str) -> Equation | None:
    """Returns the first side of a chain that has the unknown, and the last other side that is arithmetic."""
    if not 3 <= len(clause) <= LIMITS.tokens:
        return None
    first, second = clause[:2]
    is_dash = first.kind == "operator" and (word != "" or first.end < second.start)
    if is_dash or first.kind == "equals":
        return None
    sides: list[list[Written]] = [[]]
    for token in clause:
        if token.kind == "equals":
            sides.append([])
        else:
            sides[-1].append(token)
    symbols = [{token.text for token in side if token.kind == "word"} for side in sides]
    named = [next(iter(names)) for names in symbols if len(names) == 1]
    if len(sides) < 2 or len(set(named)) != 1:
        return None
    usable = [side for side, names in zip(sides, symbols, strict=True) if side and len(names) < 2]
    left = next(side for side in usable if any(token.kind == "word" for token in side))
    right = next((side for side in reversed(usable) if side is not left), None)
    if right is None:
        return None
    left, right = ([part for token in side for part in _parted(token, named[0])] for side in (left, right))
    start, end = clause[0].start, clause[-1].end
    equation = Equation(
        text=text[start:end].strip(),
        start=start,
        end=end,
        symbol=named[0],
        left=left,
        right=right,
        is_supposed=word in WORDS.supposes,
        sides=len(sides),
    )
    try:
        equation.difference(1.0)
    except (NoArithmetic, Unworkable):
        return None
    return equation


def _parted(token: Written, symbol: str) -> list[Written]:
    """Takes the unknown off a number that has it for its unit: "2C = C + 3"."""
    if token.unit is None or not re.fullmatch(rf"[\d.,]+{symbol}", token.text):
        return [token]
    return [token._replace(unit=None), Written("word", symbol, token.end - 1, token.end)]


def _parsed(tokens: Sequence[Written]) -> tuple[Term, int]:
    """Returns the term that the tokens are, and how many operations it has."""
    parser = Parser(tokens)
    term = parser.sum()
    if parser.at != len(tokens):
        raise NoArithmetic
    return term, parser.operations


def _root(equation: Equation) -> float | None:
    try:
        return equation.root()
    except Unworkable:
        return None


def _follows(before: Equation, after: Equation) -> bool | None:
    """Whether an equation agrees with the one before it; None if that cannot be said."""
    try:
        if before.is_value:
            return _agree(before, after) if after.is_statement else None
        if len(before.units | after.units) > 1:
            return None
        if after.is_value:
            return _solves(before, after)
    except Unworkable:
        return None
    one, other = _root(before), _root(after)
    return None if one is None or other is None else _near(one, other)


def _agree(before: Equation, after: Equation) -> bool:
    calculated, stated = (_parsed(equation.right)[0] for equation in (before, after))
    return any(agree(calculated.value(reading), stated.value(reading), about=False) for reading in READINGS)


def _solves(equation: Equation, stated: Equation) -> bool:
    """Whether an equation holds for the stated value, as far as its last digit tells."""
    value, place = _parsed(stated.right)[0].value(READINGS[0]).number, stated.right[-1].place
    root = _root(equation)
    if root is not None:
        return is_rounded(value, root) or (value % 1 != 0 and _near(value, root))
    margin = max(place if place < 1 else place / 2, TOLERANCES.solution * abs(value), TOLERANCES.exact)
    return equation.difference(value - margin) * equation.difference(value + margin) <= 0


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=TOLERANCES.solution, abs_tol=TOLERANCES.exact)
