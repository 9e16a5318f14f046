"""Parses units as texts write them: what they measure and their size in SI base units.

pint knows all of this too, but takes most of a second to load, which every process that meets a unit would pay.
"""

import ast
import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from soliloquy.truth.patterns import lazy_pattern

_TABLES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("units.toml").read_text("utf-8"))
_PREFIX_WORDS = "|".join(sorted(set(_TABLES["prefixes"].values())))
_WORDS = {word.lower(): name for word, name in _TABLES["words"].items()}
_OTHERWISE = _TABLES["otherwise"]
_EXPONENTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_MEASURE_TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("measures.toml").read_text("utf-8"))
_FACTORS: dict[str, float] = _MEASURE_TABLES["prefixes"]
_MEASURES: dict[str, dict[str, float]] = _MEASURE_TABLES["measures"]


def _longest_match(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_SYMBOLS = {
    prefix + symbol: f"{word}{name}"
    for symbol, name in _TABLES["prefixable"].items()
    for prefix, word in _TABLES["prefixes"].items()
}
_SYMBOLS |= _TABLES["prefixable"] | _TABLES["others"]
_SYMBOL = _longest_match(_SYMBOLS)
# Matches the same symbols where no letter follows, at a sixth of the length: a unit's pattern repeats it.
_WHOLE_SYMBOL = (
    rf"(?:(?:{_longest_match(_TABLES['prefixes'])})(?:{_longest_match(_TABLES['prefixable'])})"
    rf"|{_longest_match(_TABLES['prefixable'] | _TABLES['others'])})(?![A-Za-zµμΩ])"
)
_EXPONENT = r"(?:\([-−]?\d\)|\{\s?[-−]?\d\s?\}|[-−]?\d)"
_TYPED = r"(?<=[A-Za-zΩ])[23](?![\d.,]\d|\d)"
_POWER = rf"[²³⁴]|⁻[¹²³⁴]|\s?(?:\^|\*\*)\s?{_EXPONENT}|-[1234](?!\d)|(?<=m){_TYPED}|\s(?:squared|cubed)(?![^\W\d_])"
# `\w` matches superscripts too.
_FACTOR = rf"{_WHOLE_SYMBOL}(?:{_POWER})?"
# "m/s2" has a power, "5 N2" may be a name.
_DIVISOR = rf"{_WHOLE_SYMBOL}(?:{_POWER}|{_TYPED})?"
_FURTHER = rf"(?:\s?[·*⋅ ]\s?{_FACTOR})*"
# Blanked-out markup leaves wide gaps.
_TIMES = r"(?:\s{0,20}[·*⋅]\s{0,20}|\.(?=[A-Za-zµμΩ]))"
_OVER = r"\s{0,20}/\s{0,20}"
_WORD = _longest_match(_WORDS)
_RAISED = r"(?:\s+(?:squared|cubed)|\s?\^\s?[23])?"
_SPELLED = rf"(?:(?:square|cubic)\s+)?(?:{_PREFIX_WORDS})?(?:{_WORD})(?:s|es)?(?![^\W\d_]){_RAISED}"
# Matches a further factor after a space: "kg m/s" is one unit, "3 m in 2 s" is not.
_NEXT = rf" {{1,3}}(?!(?:s|A|C|T|h|t|min)(?![\w^⁻-])|in\b){_FACTOR}"
_SPELLED_PART = lazy_pattern(
    rf"(?P<per>\b(?:per|an?)\b|/)|(?P<after>squared|cubed|\^\s?[23])|(?P<before>square|cubic)"
    rf"|\b(?P<prefix>{_PREFIX_WORDS})?(?P<unit>{_WORD})(?:es|s)?\b"
)
_POWERS = {"square": "**2", "squared": "**2", "cubic": "**3", "cubed": "**3"}


@dataclass(frozen=True, slots=True)
class Unit:
    # Units of the same kind can be converted into each other.
    kind: str
    factor: float
    offset: float = 0.0
    # The expression that pint reads too; empty for counted things and plain numbers.
    measure: str = ""
    # What the words may also say: pounds are money or a weight, "$5 an hour" are five dollars.
    otherwise: "Unit | None" = None

    def in_base(self, value: float) -> float:
        return value * self.factor + self.offset

    def of(self, value: float, other: "Unit") -> float:
        """Converts a value of another unit of the same kind to this unit."""
        return (other.in_base(value) - self.offset) / self.factor

    def read_as(self, kind: str) -> "Unit":
        """Returns what the words say where a quantity of this kind is asked for."""
        return self.otherwise if self.otherwise is not None and self.otherwise.kind == kind else self


NO_UNIT = Unit("", 1.0)
# Money and shares are asked for with and without "per month".
_SHARES = ("money^1", "dimensionless")
# "An hour" divides a distance, but not in "5 miles an hour ago".
_ARTICLE = r"an?\s+(?!\w+\s+(?:ago|later|earlier|before|after|time)\b)"
_UNIT = lazy_pattern(
    rf"(?:[\s\u00a0\u202f~-]|\\,?){{0,3}}?(?:"
    rf"(?P<symbols>(?:1/)?{_FACTOR}(?:{_TIMES}(?:\({_FACTOR}{_FURTHER}\)|{_FACTOR}{_FURTHER})"
    rf"|{_OVER}(?:\({_DIVISOR}{_FURTHER}\)|{_DIVISOR}{_FURTHER})|{_NEXT})*)"
    rf"|(?P<words>(?i:{_SPELLED}(?:(?:[\s-]+|\s*/\s*)(?:per\s+|{_ARTICLE})?{_SPELLED})*)))"
)
# "km/hour", "miles/h", "m per second"; an article divides by words only: "5 km an hour", but not "10 g a T-shirt".
_PER = lazy_pattern(
    rf"(?:\s*/\s*|\s+(?:per\s+|(?P<each>{_ARTICLE})))(?P<words>(?i:{_SPELLED}))"
    rf"|(?:/|\s+per\s+)(?P<symbols>{_DIVISOR}(?!\d))"
)


def unit_after(text: str, at: int) -> tuple[Unit | None, int]:
    """Returns the unit right after a number and where it ends; None if there is none."""
    found = _UNIT.match(text, at)
    if found is None:
        return None, at
    known = _parsed(found)
    return (None, found.end()) if known is None else rate_after(known, text, found.end())


def rate_after(above: Unit, text: str, at: int) -> tuple[Unit, int]:
    """Returns a unit divided by what a text divides it by, as in "$5 per hour", and where that ends."""
    found = _PER.match(text, at)
    below = found and _parsed(found)
    below = below and (below.otherwise or below)
    rate = below and measure(f"{above.measure}/({below.measure})")
    if not found or not rate:
        return above, at
    return _rate(rate, above, is_each=found["each"] is not None), found.end()


def _rate(rate: Unit, above: Unit, *, is_each: bool) -> Unit:
    """Returns a rate that states what it divides too, where that is money or a share, or said of each: "3 km a day"."""
    return replace(rate, otherwise=above) if is_each or above.kind in _SHARES else rate


def _parsed(found: re.Match[str]) -> Unit | None:
    symbols, words = found["symbols"], found["words"]
    return _parse_symbols(symbols) if symbols else _parse_words(" ".join(words.lower().split()))


@functools.lru_cache(4096)
def unit(text: str) -> Unit:
    """Parses a problem's unit; an unknown one counts its own things: "apples"."""
    if not text:
        return NO_UNIT
    # Without the pattern, which takes 10 ms to compile.
    if text in _SYMBOLS and (known := measure(f"({_SYMBOLS[text]})")):
        return known
    known, end = unit_after(text, 0)
    return known if known is not None and end == len(text) else Unit(f"counted {text.lower().rstrip('s')}", 1.0)


def measured(text: str) -> str:
    """Returns a unit in which something is measured; empty for one that only names the things counted: "points"."""
    return text if unit(text).measure else ""


_METER_SECOND = lazy_pattern(r"(?<![A-Za-zµμ])ms(?=\s?(?:\^|\*\*)?\s?[({]?[-−⁻])")


@functools.lru_cache(4096)
def _parse_symbols(text: str) -> Unit | None:
    def named(found: re.Match[str]) -> str:
        return f"({_SYMBOLS[found[0]]})"

    # "ms^-2" is a metre per second squared, whatever "ms" is elsewhere.
    text = _METER_SECOND.sub("m·s", text)
    plain = re.sub(r"\s(squared|cubed)", lambda power: _POWERS[power[1]], text)
    plain = re.sub(rf"(?<![A-Za-zµμΩ])(?:{_SYMBOL})(?![A-Za-zµμΩ])", named, plain)
    plain = re.sub(r"[²³⁴⁻¹]+", lambda power: "**" + power[0].translate(_EXPONENTS), plain)
    plain = re.sub(r"\s?\^\s?[({]?\s?([-−]?\d)(?:\s?[)}])?", r"**\1", plain).replace("−", "-")
    plain = re.sub(r"(?<=\))(-?\d)", r"**\1", plain)
    plain = re.sub(r"\s*[·⋅]\s*|\.(?=\()|(?<=[^\s*/]) (?=[^\s*/])", "*", plain)
    return measure(plain)


@functools.lru_cache(4096)
def _parse_words(text: str) -> Unit | None:
    factors: list[str] = []
    divided, is_each, power = False, False, ""
    for word in _SPELLED_PART.finditer(text.replace("per cent", "percent")):
        if word["per"]:
            divided, is_each = True, is_each or word["per"].startswith("a")
        elif word["before"]:
            power = _POWERS[word["before"]]
        elif word["after"]:
            factors[-1] += _POWERS.get(word["after"]) or f"**{word['after'][-1]}"
        else:
            sign = "/" if divided else "*"
            name = _OTHERWISE.get(word["unit"], _WORDS[word["unit"]]) if divided else _WORDS[word["unit"]]
            factors.append(f"{sign if factors else ''}({word['prefix'] or ''}{name}){power}")
            divided, power = False, ""
    known, first = measure("".join(factors)), measure(factors[0])
    if known and first and len(factors) > 1:
        return _rate(known, first, is_each=is_each)
    otherwise = _OTHERWISE.get(text) or _OTHERWISE.get(text.removesuffix("s"))
    return replace(known, otherwise=measure(f"({otherwise})")) if known and otherwise else known


# A factor, the zero of the scale in base units, and the power of each base unit.
_Measure = tuple[float, float, Mapping[str, float]]
_NOTHING: _Measure = (1.0, 0.0, {})


@functools.lru_cache(4096)
def measure(expression: str) -> Unit | None:
    """Evaluates names, products, quotients and integer powers: "(kilometer)/(hour)**2"; None for anything else."""
    try:
        factor, zero, powers = _evaluate(ast.parse(expression, mode="eval").body)
    except (SyntaxError, RecursionError, ArithmeticError, ValueError):
        return None
    kind = " ".join(f"{unit}^{power:g}" for unit, power in sorted(powers.items()) if power)
    return Unit(kind or "dimensionless", factor, zero, expression)


def _evaluate(node: ast.expr) -> _Measure:
    match node:
        case ast.Constant(value=1):
            return _NOTHING
        case ast.Name(id=name):
            return _named_measure(name)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _product(_evaluate(left), _evaluate(right), 1)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _product(_evaluate(left), _evaluate(right), -1)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return _product(_NOTHING, _evaluate(left), power)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.UnaryOp(ast.USub(), ast.Constant(value=int(power)))):
            return _product(_NOTHING, _evaluate(left), -power)
    raise ValueError("the letters look like a unit but are none")


def _named_measure(name: str) -> _Measure:
    prefix = "" if name in _MEASURES else next(filter(name.startswith, _FACTORS), "")
    told = _MEASURES.get(name.removeprefix(prefix))
    if told is None or (prefix and "zero" in told):
        raise ValueError(name)
    factor = _FACTORS[prefix] if prefix else 1.0
    powers = {unit: power for unit, power in told.items() if unit not in ("factor", "zero")}
    return factor * told.get("factor", 1.0), told.get("zero", 0.0), powers


def _product(left: _Measure, right: _Measure, power: int) -> _Measure:
    (factor, _, powers), (other, _, others) = left, right
    return (
        factor * other**power,
        0.0,
        {unit: powers.get(unit, 0) + others.get(unit, 0) * power for unit in {**powers, **others}},
    )
