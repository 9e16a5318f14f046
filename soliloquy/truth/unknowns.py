"""Puts the value that a text finds for an unknown into its equations: "2x + 6 = 20, so x = 13" is a contradiction."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from soliloquy.truth.arithmetic_parser import reading
from soliloquy.truth.arithmetic_policy import EXACT, MOST_TOKENS, SOLUTION, WORDS
from soliloquy.truth.calculations import sides_of, without_words
from soliloquy.truth.written_arithmetic import ROUGHLY, Written, may_calculate, tokens_of

_SIGNS = frozenset(["=", *ROUGHLY])
_MOST_VALUES = 8


class Equation(NamedTuple):
    text: str
    start: int
    end: int
    symbol: str
    first: Sequence[Written]
    last: Sequence[Written]
    # Whether it may hold for another value than the one that is found: "if x + 3 = 0".
    is_supposed: bool

    def difference(self, value: float) -> float | None:
        """Returns the difference of the sides at a value of the unknown; None if they cannot be read."""
        sides = ([one for part in side for one in _filled(part, value)] for side in (self.first, self.last))
        first, last = map(_number, sides)
        return None if first is None or last is None else first - last

    def holds(self, told: "Equation") -> bool | None:
        """Whether it holds for a value, as far as the last digit tells; None if that cannot be said."""
        value = _number(told.last)
        units = {token.unit.measure for token in (*self.first, *self.last, *told.last) if token.unit}
        if value is None or len(units) > 1:
            return None
        place = told.last[-1].place if told.last[-1].place < 1 else 0.0
        margin = max(place, SOLUTION * abs(value) if value % 1 else 0.0, EXACT)
        below, above = self.difference(value - margin), self.difference(value + margin)
        return None if below is None or above is None else below * above <= 0


# Several checks read the same solution.
@lru_cache(256)
def solved_equations(text: str) -> Sequence[tuple[Equation, Equation, bool]]:
    """Returns every equation of a text with a value of its unknown, and whether it holds for that value or another."""
    found, solved = [*_equations_in(text)], list[tuple[Equation, Equation, bool]]()
    values = {one.text: one for one in found if len(one.first) == 1 and _number(one.last) is not None}
    for equation in found:
        # A lone unknown may have another value in a trial.
        told = [one for one in values.values() if one.symbol == equation.symbol and len(equation.first) > 1]
        holding = [(one, holds) for one in told[-_MOST_VALUES:] if (holds := equation.holds(one)) is not None]
        if holding and (any(holds for _, holds in holding) or not equation.is_supposed):
            solved.append((equation, *max(holding, key=lambda one: one[1])))
    return solved


def _equations_in(text: str) -> Iterator[Equation]:
    """Yields what holds one unknown, of a single letter."""
    word = ""
    tokens = without_words(tokens_of(text)) if may_calculate(text) else []
    for ends, group in groupby(tokens, _ends):
        clause = [*group]
        if not ends and len(clause) <= MOST_TOKENS and (found := _equation(clause, text, word)):
            yield found
        word = clause[-1].text.lower() if ends else ""


def _ends(token: Written) -> bool:
    is_word = token.kind == "word" and len(token.text) > 1
    return token.kind == "break" or is_word or (token.kind == "equals" and token.text not in _SIGNS)


def _equation(clause: Sequence[Written], text: str, word: str) -> Equation | None:
    """Returns the first side of a chain, which has the unknown, and the last."""
    sides, signs = sides_of(clause)
    names = [{token.text for token in side if token.kind == "word"} for side in (sides[0], sides[-1])]
    start, end = clause[0].start, clause[-1].end
    # The "(x)" of "f'(x) = 3x" belongs to what stands before it.
    is_rest = clause[0].kind == "open" and text[start - 1 : start].strip()
    if not signs or is_rest or len(names[0]) != 1 or not names[1] <= names[0]:
        return None
    [symbol] = names[0]
    is_supposed = word in WORDS["supposes"]
    found = Equation(text[start:end].strip(), start, end, symbol, sides[0], sides[-1], is_supposed)
    return None if found.difference(1.0) is None else found


def _filled(token: Written, value: float) -> list[Written]:
    """Puts a number in brackets for the unknown, which makes "2x" a product."""
    if token.kind != "word":
        return [token]
    return [token._replace(kind="open"), token._replace(kind="number", value=value), token._replace(kind="close")]


def _number(tokens: Sequence[Written]) -> float | None:
    found = reading(tokens)
    return found.value.number if found and found.at == len(tokens) else None
