"""Units as texts write them: what they measure, and how much of it."""

import ast
import functools
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

_TABLES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("units.toml").read_text("utf-8"))
_PREFIX_WORDS = "|".join(sorted(set(_TABLES["prefixes"].values())))
_WORDS = {word.lower(): name for word, name in _TABLES["words"].items()}
_EXPONENTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_MEASURE_TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("measures.toml").read_text("utf-8"))
_FACTORS: dict[str, float] = _MEASURE_TABLES["prefixes"]
_MEASURES: dict[str, dict[str, float]] = _MEASURE_TABLES["measures"]


def longest_of(words: Iterable[str]) -> str:
    """The longest of the words that fits, or else the next: as if they stood one behind the other, longest first."""
    return _pattern(sorted(set(words)))


def _pattern(words: list[str]) -> str:
    """Of words in the order of the alphabet."""
    ends = words[0] == ""
    branches: list[str] = []
    for letter, group in groupby(words[ends:], key=lambda word: word[0]):
        branches.append(f"{re.escape(letter)}{_pattern([word[1:] for word in group])}")
    if not branches:
        return ""
    if len(branches) == 1 and not ends:
        return branches[0]
    return f"(?:{'|'.join(branches)}){'?' if ends else ''}"


def _symbols() -> dict[str, str]:
    found: dict[str, str] = {}
    for symbol, name in _TABLES["prefixable"].items():
        found |= {prefix + symbol: f"{word}{name}" for prefix, word in _TABLES["prefixes"].items()}
    found |= _TABLES["prefixable"]
    return found | _TABLES["others"]


_SYMBOLS = _symbols()
_SYMBOL = longest_of(_SYMBOLS)
_POWER = r"(?:[²³⁴]|⁻[¹²³⁴]|\s?(?:\^|\*\*)\s?[({]?[-−]?\d[)}]?|-[1234](?!\d)|(?<=m)[23](?![\d.,]\d|\d))?"
# A superscript counts as a letter to `\w`.
_FACTOR = rf"(?:{_SYMBOL})(?![A-Za-zµμΩ]){_POWER}"
_WORD = longest_of(_WORDS)
_SPELLED = rf"(?:(?:square|cubic)\s+)?(?:{_PREFIX_WORDS})?(?:{_WORD})(?:s|es)?(?![^\W\d_])(?:\s+(?:squared|cubed))?"
# What may follow another factor after a space: "kg m/s" is a unit, "3 m in 2 s" holds none that long.
_NEXT = rf" (?!(?:s|A|C|T|h|t|min)(?![\w^-])|in\b){_FACTOR}"
_SPELLED_PART = re.compile(
    rf"(?P<per>\b(?:per|a)\b|/)|(?P<after>squared|cubed)|(?P<before>square|cubic)"
    rf"|\b(?P<prefix>{_PREFIX_WORDS})?(?P<unit>{_WORD})(?:es|s)?\b"
)
_POWERS = {"square": "**2", "squared": "**2", "cubic": "**3", "cubed": "**3"}


@dataclass(frozen=True, slots=True)
class Unit:
    # Two units of the same kind can be converted into each other.
    kind: str
    factor: float
    offset: float = 0.0
    # As pint reads it too; empty for what is counted, and for a plain number.
    measure: str = ""

    def in_base(self, value: float) -> float:
        """The value of so many of this unit in base units."""
        return value * self.factor + self.offset

    def of(self, value: float, other: "Unit") -> float:
        """How many of this unit so many of another of its kind are."""
        return (other.in_base(value) - self.offset) / self.factor


NO_UNIT = Unit("", 1.0)


@functools.cache
def _unit() -> re.Pattern[str]:
    """Compiled when a text is first looked at: a twentieth of a second that not every command needs."""
    return re.compile(
        rf"[\s\u00a0\u202f~\\,-]{{0,3}}?(?:"
        rf"(?P<symbols>(?:1/)?{_FACTOR}(?:\s?[·*⋅/]\s?\(?{_FACTOR}(?:\s?[·*⋅ ]\s?{_FACTOR})*\)?|{_NEXT})*)"
        rf"(?P<per>\s+per\s+(?:{_FACTOR}|{_SPELLED}))?"
        rf"|(?P<words>(?i:{_SPELLED}(?:(?:[\s-]+|\s*/\s*)(?:per\s+|a\s+)?{_SPELLED})*)))"
    )


def unit_after(text: str, at: int) -> tuple[Unit | None, int]:
    """The unit that stands right behind a number, and where it ends; None where there is none."""
    found = _unit().match(text, at)
    if found is None:
        return None, at
    if found["symbols"]:
        symbols = found["symbols"]
        if found["per"] and (below := unit_after(found["per"].split(maxsplit=1)[1], 0)[0]):
            return _quotient(_of_symbols(symbols), below), found.end()
        return _of_symbols(symbols), found.end("symbols")
    return _of_words(" ".join(found["words"].lower().split())), found.end()


@functools.lru_cache(4096)
def unit(text: str) -> Unit:
    """A unit as a problem states it; one that is no unit of physics counts its own things: "apples"."""
    if not text:
        return NO_UNIT
    known, end = unit_after(text, 0)
    return known if known is not None and end == len(text) else Unit(f"counted {text.lower().rstrip('s')}", 1.0)


@functools.lru_cache(4096)
def _of_symbols(text: str) -> Unit | None:
    def named(found: re.Match[str]) -> str:
        return f"({_SYMBOLS[found[0]]})"

    plain = re.sub(r"[²³⁴⁻¹]+", lambda power: "**" + power[0].translate(_EXPONENTS), text)
    plain = re.sub(r"\s?\^\s?[({]?\s?([-−]?\d)[)}]?", r"**\1", plain).replace("−", "-")
    plain = re.sub(r"(?<=m)([23])", r"**\1", plain)
    plain = re.sub(rf"({_SYMBOL})-(\d)", r"\1**-\2", plain)
    plain = re.sub(r"\s?[·⋅]\s?|(?<=[^\s*/]) (?=[^\s*/])", "*", plain)
    return _measured(re.sub(rf"{_SYMBOL}", named, plain))


def _quotient(above: Unit | None, below: Unit) -> Unit | None:
    return above and _measured(f"({above.measure}) / ({below.measure})")


@functools.lru_cache(4096)
def _of_words(text: str) -> Unit | None:
    factors: list[str] = []
    divided, power = False, ""
    for word in _SPELLED_PART.finditer(text.replace("per cent", "percent")):
        if word["per"]:
            divided = True
        elif word["before"]:
            power = _POWERS[word["before"]]
        elif word["after"]:
            factors[-1] += _POWERS[word["after"]]
        else:
            sign = "/" if divided else "*"
            factors.append(f"{sign if factors else ''}({word['prefix'] or ''}{_WORDS[word['unit']]}){power}")
            divided, power = False, ""
    return _measured("".join(factors))


@functools.lru_cache(4096)
def _measured(expression: str) -> Unit | None:
    try:
        found = measure(expression)
    except NoMeasure:
        return None
    return Unit(found.kind, found.factor, found.zero, expression)


@dataclass(frozen=True, slots=True)
class Measure:
    factor: float
    # Where its scale begins on that of the base unit.
    zero: float
    # Of each base unit, in the order of their names.
    powers: tuple[tuple[str, float], ...]

    @property
    def kind(self) -> str:
        return " ".join(f"{unit}^{power:g}" for unit, power in self.powers) or "dimensionless"


_NOTHING = Measure(1.0, 0.0, ())


class NoMeasure(ValueError):
    """Letters that look like a unit and are none."""


def measure(expression: str) -> Measure:
    """Of names, products, quotients and whole powers: "(kilometer)/(hour)**2"."""
    try:
        return _worked(ast.parse(expression, mode="eval").body)
    except (SyntaxError, RecursionError, ArithmeticError) as error:
        raise NoMeasure(expression) from error


def _worked(node: ast.expr) -> Measure:
    match node:
        case ast.Constant(value=1):
            return _NOTHING
        case ast.Name(id=name):
            return _named(name)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _product(_worked(left), _worked(right), 1)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _product(_worked(left), _worked(right), -1)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return _product(_NOTHING, _worked(left), power)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.UnaryOp(ast.USub(), ast.Constant(value=int(power)))):
            return _product(_NOTHING, _worked(left), -power)
    raise NoMeasure(ast.unparse(node))


def _named(name: str) -> Measure:
    prefix = "" if name in _MEASURES else next(filter(name.startswith, _FACTORS), "")
    told = _MEASURES.get(name.removeprefix(prefix))
    if told is None or (prefix and "zero" in told):
        raise NoMeasure(name)
    factor = _FACTORS[prefix] if prefix else 1.0
    powers = sorted((unit, power) for unit, power in told.items() if unit not in ("factor", "zero"))
    return Measure(factor * told.get("factor", 1.0), told.get("zero", 0.0), tuple(powers))


def _product(left: Measure, right: Measure, power: int) -> Measure:
    powers = dict(left.powers)
    for unit, own in right.powers:
        powers[unit] = powers.get(unit, 0) + own * power
    return Measure(
        left.factor * right.factor**power, 0.0, tuple(sorted((unit, power) for unit, power in powers.items() if power))
    )
