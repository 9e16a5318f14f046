"""Compares laws and expressions by their values for drawn numbers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from soliloquy.truth.expressions import Expression, Unworkable
from soliloquy.truth.laws import Law

# Floats that are equal up to rounding.
_EXACT = 1e-9
# No formula of a lesson has a special value at one of these bases: they stand for numbers in general.
_BASES = (math.e, math.pi + 4, 0.3)
# A root is looked for between neighbours among these numbers, and cut in half so many times.
_GRID = [10 ** (power / 16) for power in range(-48, 97)]
_HALVINGS = 80

Values = Mapping[str, float]


def is_solved_by(law: Law, symbol: str, expression: Expression) -> bool:
    """Whether an expression for the symbol fulfils the law, whatever the other symbols stand for."""
    found = [_solves(law, symbol, expression, point) for point in _points(law.symbols | set(expression.symbols))]
    return all(found) and bool(found)


def are_equal(one: Expression, other: Expression) -> bool:
    """Whether two expressions have the same value for any values of their letters."""
    pairs = [(_value(one, point), _value(other, point)) for point in _points({*one.symbols, *other.symbols})]
    found = [pair for pair in pairs if not any(map(math.isnan, pair))]
    return bool(found) and all(math.isclose(*pair, rel_tol=_EXACT) for pair in found)


def are_equivalent(one: Law, other: Law) -> bool | None:
    """Whether two laws hold for the same values; None if their symbols differ or neither can be solved."""
    if one.symbols != other.symbols:
        return None
    for symbol in sorted(one.symbols):
        solved = [(_roots(one, symbol, point), _roots(other, symbol, point)) for point in _points(one.symbols)]
        if found := [pair for pair in solved if all(pair)]:
            return all(_are_same(*pair) for pair in found)
    return None


def _points(symbols: set[str]) -> Iterator[Values]:
    for base in _BASES:
        yield {symbol: 1 / (place + base) for place, symbol in enumerate(sorted(symbols))}


def _value(expression: Expression, point: Values) -> float:
    """Returns NaN, which equals nothing, where an expression has no value."""
    try:
        return expression.value(point)
    except Unworkable:
        return math.nan


def _solves(law: Law, symbol: str, expression: Expression, point: Values) -> bool:
    solved = {**point, symbol: _value(expression, point)}
    first, *others = [_value(side, solved) for side in law.sides]
    # "v - g × t = 0" has a side without a size.
    return all(math.isclose(first, other, rel_tol=_EXACT, abs_tol=_EXACT) for other in others)


def _are_same(some: Sequence[float], others: Sequence[float]) -> bool:
    return len(some) == len(others) and all(map(lambda a, b: math.isclose(a, b, rel_tol=_EXACT), some, others))


def _roots(law: Law, symbol: str, point: Values) -> Sequence[float]:
    """Returns what the symbol may stand for where the others have these values; a lone one may be negative."""
    first, second = law.sides[:2]

    def difference(value: float) -> float:
        at = {**point, symbol: value}
        return _value(first, at) - _value(second, at)

    numbers = [*(-number for number in reversed(_GRID)), 0.0, *_GRID] if len(law.symbols) == 1 else _GRID
    differences = [(number, difference(number)) for number in numbers]
    roots = [number for number, value in differences if value == 0]
    for (low, below), (high, above) in pairwise(differences):
        if below * above < 0:
            start, end = low, high
            for _ in range(_HALVINGS):
                middle = (start + end) / 2
                start, end = (middle, end) if difference(middle) * below > 0 else (start, middle)
            # A fraction changes its sign where its divisor is zero, too.
            if abs(difference(start)) < min(abs(below), abs(above)):
                roots.append(start)
    return sorted(roots)
