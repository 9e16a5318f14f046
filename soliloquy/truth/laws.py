"""Parses equations as people write them, and checks them against the values of their symbols."""

import ast
import functools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from soliloquy.truth.expressions import MAX_LENGTH, BadExpression, Expression, Unworkable, from_tree
from soliloquy.truth.markup import without_markup
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.units import unit_after

_SAME = 0.01
_TERM = r"[\w\s().^*/+\-−×·⋅√²³⁴½Δ\\{}]"
# An equation ends with its sentence, at the next equals sign, or before a connecting word, but never after an operator.
_WORDS = r"(?:and|so|with|where|but|is|which|because|for|since|then|right|I|to|or|as)\b"
_END = rf"(?=[=≈]|[,;:?!]|\.(?:\s|$)|$|\s(?<![-+−*×·⋅/^]\s){_WORDS})"
_EQUATION = re.compile(rf"(?<![\w=])((?:1\s*/\s*)?[^\W\d]{_TERM}*?)\s*[=≈]\s*({_TERM}+?){_END}")
_PYTHON = {
    "\\times": "*",
    "\\cdot": "*",
    **dict(zip("×·⋅−^πΔ{}", ("*", "*", "*", "-", "**", "pi", "d", "(", ")"), strict=True)),
    **{"²": "**2", "³": "**3", "⁴": "**4", "½": "0.5*"},
}
_FUNCTIONS = {"sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "log10", "radians"}
_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "ln": "log", "log": "log10"}
_SYMBOL = re.compile(r"[^\W\d]\w*")
_COMMANDS = (
    "alpha beta gamma delta Delta eta theta lambda mu pi rho sigma phi omega Omega cdot times approx div circ to"
)
_SIGNS = dict(zip(_COMMANDS.split(), "αβγδΔηθλμπρσφωΩ·×≈/°→", strict=True)) | {"rightarrow": "→", "Rightarrow": "→"}
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_SUBSCRIPT, _EXPONENT = re.compile(r"_\{(\w+)\}"), re.compile(r"\^\{([^{}]+)\}")
_OPERATIONS = {"times": "×", "multiplied by": "×", "divided by": "/", "plus": "+", "minus": "-"}
_OPERATION = re.compile(rf"(?<=\d)\s+({'|'.join(_OPERATIONS)})\s+(?=\d)", re.I)


@dataclass(frozen=True, kw_only=True, slots=True)
class Law:
    text: str
    # "p / T = q / U = r / S" has three sides.
    sides: Sequence[Expression]

    @property
    def symbols(self) -> set[str]:
        return {symbol for side in self.sides for symbol in side.symbols}

    def holds(self, values: Mapping[str, float], tolerance: float) -> bool:
        first, *others = [side.value(values) for side in self.sides]
        return all(math.isclose(first, other, rel_tol=tolerance) for other in others)


def plain(text: str) -> str:
    """Rewrites the LaTeX, Markdown and operations in words of a person as the readers of formulas expect them."""
    text = without_markup(text).replace("{,}", ",").replace("~", " ")
    text = _EXPONENT.sub(r"^(\1)", _SUBSCRIPT.sub(r"_\1", text))
    while (simpler := _FRACTION.sub(r"((\1)/(\2))", text)) != text:
        text = simpler
    text = _COMMAND.sub(lambda found: _SIGNS.get(found[1], found[1]), text)
    return " ".join(_OPERATION.sub(lambda found: f" {_OPERATIONS[found[1].lower()]} ", text).split())


def law(formula: str) -> Law:
    """Parses a formula with any symbols."""
    sides = [expression(side) for side in formula.split("=")]
    read = [side for side in sides if side is not None]
    if len(read) < max(len(sides), 2):
        raise BadExpression(f"the law {formula!r} is not an equation")
    return Law(text=formula, sides=read)


@functools.lru_cache(8192)
def expression(text: str, symbols: tuple[str, ...] | None = None) -> Expression | None:
    """Parses a calculation such as "3/4 × 100" or "2π"; None for any other text, or one with other symbols."""
    if len(text) > MAX_LENGTH:
        return None
    plain = re.sub(r"\bmath\.log\b", "ln", text)
    for sign, python in _PYTHON.items():
        plain = plain.replace(sign, python)
    plain = re.sub(r"√\s*(\w+)", r"sqrt(\1)", plain).replace("√", "sqrt")
    plain = re.sub(r"\bmath\.", "", plain)
    plain = _SYMBOL.sub(lambda name: _NAMES.get(name[0], name[0]), plain)
    if symbols is not None:
        plain = _SYMBOL.sub(lambda name: _split_symbols(name[0], set(symbols)), plain)
    # Juxtaposition means multiplication: 2 h, (a) (b), m g.
    plain = re.sub(r"(?<=[\w)])\s+(?=[\w(])|(?<=\d)(?=[^\W\d_(])(?![eE][-+]?\d)|(?<=\))(?=[\w(])", "*", plain.strip())
    plain = re.sub(r"(?<=\d)(?=\()", "*", plain)
    for function in _FUNCTIONS:
        plain = re.sub(rf"\b{function}\*\(", f"{function}(", plain)
        plain = re.sub(rf"\b{function}\*(\w+)", rf"{function}(\1)", plain)
        plain = re.sub(rf"\b{function}\(", f"math.{function}(", plain)
    plain = re.sub(r"\bpi\b", "math.pi", plain)
    try:
        found = from_tree(ast.parse(plain.strip(" *"), mode="eval").body)
    except (SyntaxError, BadExpression, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return found if symbols is None or set(symbols).issuperset(found.symbols) else None


def laws_in(text: str) -> Iterator[tuple[str, str]]:
    """Yields both sides of every equation in a text, with the words around them."""
    for found in _EQUATION.finditer(text.replace("**", "^")):
        yield found[1].strip(), found[2].strip()


def law_between(left: str, right: str, symbols: Iterable[str]) -> Law | None:
    """Parses the law within two sides that include words of the sentence; None if that is impossible."""
    known = tuple(sorted(symbols))
    before, after = left.split(), right.split()
    one = _first(expression(" ".join(before[start:]), known) for start in range(len(before)))
    other = _first(expression(" ".join(after[:end]), known) for end in range(len(after), 0, -1))
    return Law(text=f"{left} = {right}", sides=[one, other]) if one and other else None


def holds(left: str, right: str, values: Mapping[str, float]) -> bool | None:
    """Whether both sides have the same value; None if a side cannot be read or a symbol is unknown."""
    found = law_between(left, right, values)
    if found is None or not all(side.symbols for side in found.sides) or _is_quantity(right):
        return None
    try:
        return found.holds(values, _SAME)
    except Unworkable:
        return None


def _first(sides: Iterable[Expression | None]) -> Expression | None:
    """Returns the longest readable side, preferably one with a symbol."""
    bare = None
    for side in sides:
        if side is not None and side.symbols:
            return side
        bare = bare or side
    return bare


def _is_quantity(text: str) -> bool:
    """A number with a unit looks like a number times a symbol."""
    number, _, rest = text.partition(" ")
    found = next(iter(numbers_in(number)), None)
    return found is not None and found.end == len(number) and " " not in rest and unit_after(rest, 0)[1] == len(rest)


def _split_symbols(name: str, known: set[str]) -> str:
    """Splits a run of letters into symbols: "mgh"."""
    if name in known or name in _FUNCTIONS or name in ("pi", "e"):
        return name
    # p_1 and p1 are the same symbol.
    name = name.replace("_", "")
    parts = re.findall("|".join(map(re.escape, sorted(known, key=len, reverse=True))), name)
    return "*".join(parts) if "".join(parts) == name else name
