"""Compares laws and expressions by their values for drawn numbers, and reads answers in letters: "it is 8 + 6*x"."""

import ast
import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from soliloquy.truth.expressions import BadExpression, Expression, Unworkable
from soliloquy.truth.laws import Law, expression, law

# Floats that are equal up to rounding.
_EXACT = 1e-9
# No formula of a lesson has a special value at one of these bases: they stand for numbers in general.
_BASES = (math.e, math.pi + 4, 0.3)
# A root is looked for between neighbours among these numbers, and cut in half so many times.
_GRID = [10 ** (power / 16) for power in range(-48, 97)]
_HALVINGS = 80

_PLAIN = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "²": "^2", "³": "^3"})
_SPELLED = {"plus": "+", "minus": "-", "times": "*", "equals": "=", "squared": "^2"}
_WORD = re.compile(rf"\s*\b({'|'.join(_SPELLED)})\b")
# "6x" is algebra, while "26 m" is a quantity and "3e8" a number.
_JUXTAPOSED = re.compile(r"\d(?!e[-+]?\d)[^\W\d_]|\d\(|\)\(", re.I)
_EQUALS = re.compile(r"[=≈]")
# No answer follows these words: "2x + 6, not 2x + 3", "I get 2x + 6 from 2(x + 3)".
_NEGATED = re.compile(r"\b(?:not|isn.?t|wasn.?t|never|rather than|instead of|than)\W*$", re.I)
_SOURCE = re.compile(
    r"\b(?:from|of|in|for|inside|expand\w*|simplif\w+|multipl\w+(?: out)?|factor\w*|open\w*(?: up)?)\W*$", re.I
)

Values = Mapping[str, float]


def is_solved_by(law: Law, symbol: str, expression: Expression) -> bool:
    """Whether an expression for the symbol fulfils the law, whatever the other symbols stand for."""
    return all(_solves(law, symbol, expression, point) for point in _points(law.symbols | set(expression.symbols)))


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


@functools.lru_cache(4096)
def algebra(formula: str) -> Law | None:
    """Returns the equation that a known answer is; None if it is a number, a law in words, or no equation."""
    if not _JUXTAPOSED.search(formula):
        return None
    try:
        known = law(formula.strip("$ ."))
    except BadExpression:
        return None
    is_known = known.symbols and all(len(symbol) == 1 for symbol in known.symbols) and len(known.sides) == 2
    return known if is_known else None


@functools.lru_cache(4096)
def gives_algebra(text: str, formula: str) -> bool | None:
    """Whether a text answers with this equation in any equivalent form; None if it gives none.

    For "P = 6x + 8" the expression alone is enough.
    """
    wanted = algebra(formula)
    stated = stated_algebra(text, formula)
    if wanted is None or not stated:
        return None
    if _name(wanted):
        return are_equal(stated[-1].sides[1], wanted.sides[1])
    judged = [are_equivalent(one, wanted) for one in stated]
    return None if None in judged else all(judged)


def stated_algebra(text: str, formula: str) -> Sequence[Law]:
    """Returns the equations in the letters of the known one that a text states; of an expression also its name."""
    wanted = algebra(formula)
    if wanted is None:
        return []
    chains = list(_chains_in(text, wanted.symbols))
    if _name(wanted):
        ends = [chain[-1] for chain in chains if _answers(chain, wanted)]
        return [Law(text=text, sides=[wanted.sides[0], end]) for end in ends]
    equations = [Law(text=text, sides=chain) for chain in chains if len(chain) == 2]
    return [one for one in equations if one.symbols == wanted.symbols]


def _answers(chain: Sequence[Expression], wanted: Law) -> bool:
    """Whether a chain of equal sides, "P = 2(x + 1) + 4x = 6x + 2", is about the expression asked for."""
    name, letters = _name(wanted), set(wanted.sides[1].symbols)
    last = set(chain[-1].symbols)
    named = chain[0].symbols == (name,) and len(chain) > 1
    # A number alone may be of anything, and a letter alone is mostly talked about.
    told = named or (bool(last) and not isinstance(chain[-1].tree, ast.Name))
    return name not in last and last <= letters and told


def _name(known: Law) -> str:
    """Returns the letter that stands for an expression in others: P in "P = 6x + 8"."""
    first, second = known.sides
    return first.tree.id if isinstance(first.tree, ast.Name) and first.tree.id not in second.symbols else ""


def _chains_in(text: str, letters: set[str]) -> Iterator[Sequence[Expression]]:
    """Yields the runs of terms in these letters, split at their equals signs."""
    text = _WORD.sub(lambda word: f" {_SPELLED[word[1]]}", text.replace("**", "^").translate(_PLAIN))
    names = "|".join(sorted(letters))
    run = re.compile(rf"(?:\d+(?:\.\d+)?|[-+*/^()=≈\s]|(?<![^\W\d_'’])(?:{names})+(?![^\W\d_'’]))+")
    source = list[Sequence[Expression]]()
    found = False
    for match in run.finditer(text):
        sides = [expression(side.strip(), tuple(sorted(letters))) for side in _EQUALS.split(match[0])]
        chain = [side for side in sides if side is not None]
        if len(chain) < len(sides) or not any(side.symbols for side in chain):
            continue
        before = text[: match.start()]
        if _NEGATED.search(before):
            continue
        if len(chain) == 1 and _SOURCE.search(before):
            source.append(chain)
            continue
        found = True
        yield chain
    if not found:
        yield from source
