"""Equations as people write them, held against the values that their symbols have."""

import ast
import functools
import math
import re
from collections.abc import Iterator, Mapping

from services.truth.expressions import BadExpression, Expression, Unworkable, from_tree
from services.truth.numbers import numbers_in
from services.truth.units import unit_after

_SAME = 0.01
_TERM = r"[\w\s().^*/+\-−×·⋅√²³⁴½Δ\\{}]"
# It ends with its sentence, with the next sign of equality, or where words go on.
_END = r"(?=[=≈]|[,;:?!]|\.(?:\s|$)|$|\s(?:and|so|with|where|but|is|which|because|for|since|then|right|I|to|or|as)\b)"
_EQUATION = re.compile(rf"(?<![\w=])((?:1\s*/\s*)?[^\W\d]{_TERM}*?)\s*[=≈]\s*({_TERM}+?){_END}")
_PYTHON = {
    "\\times": "*",
    "\\cdot": "*",
    **dict(zip("×·⋅−^πΔ{}", ("*", "*", "*", "-", "**", "pi", "d", "(", ")"), strict=True)),
    **{"²": "**2", "³": "**3", "⁴": "**4", "½": "0.5*"},
}
_FUNCTIONS = {"sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "log10", "radians"}
_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "ln": "log"}
_SYMBOL = re.compile(r"[^\W\d]\w*")


def laws_in(text: str) -> Iterator[tuple[str, str]]:
    """Both sides of every equation between symbols in a text."""
    for found in _EQUATION.finditer(text.replace("**", "^")):
        yield found[1].strip(), found[2].strip()


def holds(left: str, right: str, values: Mapping[str, float]) -> bool | None:
    """Whether both sides have the same value; None where a side cannot be read or a symbol is unknown."""
    symbols = tuple(sorted(values))
    # The sentence around an equation runs into its sides.
    before, after = left.split(), right.split()
    one = _first(_read(" ".join(before[start:]), symbols) for start in range(len(before)))
    other = _first(_read(" ".join(after[:end]), symbols) for end in range(len(after), 0, -1))
    if one is None or other is None or _is_quantity(right):
        return None
    try:
        return math.isclose(one.value(values), other.value(values), rel_tol=_SAME)
    except Unworkable:
        return None


def _first(sides: Iterator[Expression | None]) -> Expression | None:
    return next((side for side in sides if side and side.symbols), None)


def _is_quantity(text: str) -> bool:
    """A number with a unit looks like one times a symbol."""
    number, _, rest = text.partition(" ")
    found = next(numbers_in(number), None)
    return found is not None and found.end == len(number) and " " not in rest and unit_after(rest, 0)[1] == len(rest)


@functools.lru_cache(8192)
def _read(side: str, symbols: tuple[str, ...]) -> Expression | None:
    known = set(symbols)
    plain = side
    for sign, python in _PYTHON.items():
        plain = plain.replace(sign, python)
    plain = re.sub(r"√\s*(\w+)", r"sqrt(\1)", plain).replace("√", "sqrt")
    plain = re.sub(r"\bmath\.", "", plain)
    plain = _SYMBOL.sub(lambda name: _NAMES.get(name[0], name[0]), plain)
    plain = _SYMBOL.sub(lambda name: _parted(name[0], known), plain)
    # Side by side means times: 2 h, (a) (b), m g.
    plain = re.sub(r"(?<=[\w)])\s+(?=[\w(])|(?<=\d)(?=[^\W\d_(])(?![eE][-+]?\d)|(?<=\))(?=[\w(])", "*", plain.strip())
    plain = re.sub(r"(?<=\d)(?=\()", "*", plain)
    for function in _FUNCTIONS:
        plain = re.sub(rf"\b{function}\*\(", f"{function}(", plain)
        plain = re.sub(rf"\b{function}\*(\w+)", rf"{function}(\1)", plain)
        plain = re.sub(rf"\b{function}\(", f"math.{function}(", plain)
    plain = re.sub(r"\bpi\b", "math.pi", plain)
    try:
        expression = from_tree(ast.parse(plain.strip(" *"), mode="eval").body)
    except (SyntaxError, BadExpression, ValueError, RecursionError):
        return None
    return expression if known.issuperset(expression.symbols) else None


def _parted(name: str, known: set[str]) -> str:
    """A run of letters that is no symbol but several of them: "mgh"."""
    if name in known or name in _FUNCTIONS or name in ("pi", "e"):
        return name
    # A subscript is written with or without its line: p_1 is p1.
    name = name.replace("_", "")
    parts, rest = [], name
    while rest:
        part = next((rest[:length] for length in range(len(rest), 0, -1) if rest[:length] in known), None)
        if part is None:
            return name
        parts.append(part)
        rest = rest[len(part) :]
    return "*".join(parts)
