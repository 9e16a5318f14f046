"""Finds the numbers that a solution states, except those that count, refer, or belong to a formula."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from soliloquy.truth.number_meanings import FRACTIONS, Value
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.unit_table import Unit
from soliloquy.truth.units import unit, unit_after

# Both parts of a quotient count as numbers; parsed as one number, only its value would.
_TEX_FRACTION = lazy_pattern(r"\\[dt]?frac\{([^{}]+)\}\{([^{}]+)\}")
_QUOTIENT = lazy_pattern(r"(?<=[\d)])\s?[/⁄]\s?(?=[\d(])")
_POWER = lazy_pattern(r"(?<!\d)\^\s?[({]\s?[-−–]?(\d+(?:\.\d+)?)\s?[)}]")
_LABEL = lazy_pattern(
    r"(?:\b(?:steps?|equations?|eqs?\.|parts?|to the power(?: of)?|exponent)|#)\s?\(?"
    r"(?:\d+\w?\s?(?:,|and|&|to|or|[-–])\s?)*$",
    re.IGNORECASE,
)
_ORDINAL = lazy_pattern(r"(?:st|nd|rd|th)\b")
_ARTICLE = lazy_pattern(r"\s+(?:of\s+)?an?$")
# Matches a letter with its subscript, such as "a", "v_0" or "m1", but not the article in "2 m a second".
_LETTER = r"(?!a\s[a-z]{3})[^\W\d_]\d?(?:_\{?\w+\}?)?(?![^\W\d_²³⁴])"
_FUNCTION = r"(?:√|π|Δ|\\?(?:arc)?(?:sqrt|pi|sin|cos|tan|ln|log|exp)\b|math\.)"
_SYMBOL = rf"(?:{_FUNCTION}|{_LETTER})"
_BEFORE_SYMBOL = lazy_pattern(
    rf"(?:÷\d{{1,2}})?\)*\s?(?:[×*·⋅÷/]\s?\(*(?:{_FUNCTION}|[^\W\d_]\w*)|[+−–-]\s?\(*{_SYMBOL}|\(*{_SYMBOL})"
)
_BEHIND_SYMBOL = lazy_pattern(r"(?:[^\W\d_]\w*|[)²³⁴])\s?[×*·⋅÷/+−–-]\s?\(*$")
_FACTOR = lazy_pattern(rf"\s?[×*·⋅/]?\s?\(*{_SYMBOL}")
_NO_UNIT = lazy_pattern(r"\s*[-–−]\s")
# "2 m g" is not a number of metre-grams.
_LIKE_A_UNIT = lazy_pattern(r"\s?[a-z](?: [a-z])+")
_IS = r"\s*(?:=|≈|is|are|equals?|has|holds)\s*"
_SAME = lazy_pattern(_IS)
# Matches "60 seconds in a minute" and "each kilometre is 1000 m".
_OF_ONE = lazy_pattern(r"\s(?:in|per|to|make)\s(?:an?|one|each|every)(?=\s)")
_ONE_IS = lazy_pattern(rf"\b(?:an?|one|each|every) ([^\W\d_]+){_IS}$", re.IGNORECASE)
# The number of characters before a number that may describe it.
_BEFORE = 40
# Larger numbers in words are values: "two forces" counts, "fifty metres" states.
_COUNTED = 12
# A formula's own numbers are whole and smaller than this, or common fractions.
_SMALL = 10
_PARTS = {*FRACTIONS.values()}
_PLAIN_FRACTIONS = {ord(sign): f" {Fraction(value).limit_denominator(10)}" for sign, value in FRACTIONS.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedNumber:
    text: str
    value: float
    half: float
    digits: int
    spelled: bool
    unit: Unit | None
    start: int
    # Includes the unit.
    end: int
    # Next to a symbol: the 2 of v² = 2 a s, the 273.15 of T = t + 273.15.
    in_formula: bool
    # Needs no source: it counts, converts, or belongs to a formula.
    free: bool


def normalize(text: str) -> str:
    """Rewrites quotients and powers; all positions refer to the rewritten text."""
    text = _TEX_FRACTION.sub(r"(\1)÷(\2)", text).replace("\\times", "×").replace("\\cdot", "·")
    return _QUOTIENT.sub("÷", _POWER.sub(r"^\1", text))


def stated_numbers(text: str) -> list[StatedNumber]:
    """Returns the numbers of a normalized text; conversion factors ("1 km = 1000 m") are free."""
    found: list[StatedNumber] = []
    for number in numbers_in(text):
        before = text[max(0, number.start - _BEFORE) : number.start]
        end = number.end - len(match[0] if (match := _ARTICLE.search(text[number.start : number.end])) else "")
        if _LABEL.search(before) or _ORDINAL.match(text, end):
            continue
        known, unit_end = _unit_after(text, end)
        behind_number = bool(found) and not text[found[-1].end : number.start].strip(" ×*·⋅÷/+−–-(")
        in_formula = number.factor != 1 or _is_beside_symbol(
            text, number, end, known, unit_end, behind_number=behind_number
        )
        found.append(
            StatedNumber(
                text=text[number.start : unit_end].strip(),
                value=_without_factor(number),
                half=number.half,
                digits=number.digits,
                spelled=number.spelled,
                unit=known,
                start=number.start,
                end=unit_end,
                in_formula=in_formula,
                free=_counts(number, known) or (in_formula and _is_small(text, number, end)),
            )
        )
    return _with_conversions(text, found)


def values_of(texts: Sequence[str]) -> set[float]:
    """Returns every number in the texts, including both parts of a quotient or of ½."""
    forms = [form for text in texts for form in (text, normalize(text.translate(_PLAIN_FRACTIONS)))]
    found = [number for form in forms for number in numbers_in(form)]
    return {abs(number.value) for number in found} | set(map(_without_factor, found))


def _without_factor(number: Value) -> float:
    """Returns what needs a source: the π of a formula needs none, and in "π / 60" only 60 does."""
    value = abs(number.value / number.factor)
    return round(1 / value, 9) if number.factor != 1 and 0 < value < 1 else value


def is_among(number: StatedNumber, values: set[float]) -> bool:
    """Whether the number is one of these values, possibly rounded."""
    if any(math.isclose(number.value, value, rel_tol=1e-9) for value in values):
        return True
    return number.digits >= 3 and any(abs(number.value - value) <= 1.0000001 * number.half for value in values)


def _counts(number: Value, unit: Unit | None) -> bool:
    # "From rest" states a zero too.
    return (number.spelled and number.value <= _COUNTED) or number.value == 0 or (number.value == 1 and unit is None)


def _is_small(text: str, number: Value, end: int) -> bool:
    value = number.value / number.factor
    return value in _PARTS or (
        value < _SMALL and value % 1 == 0 and (number.factor != 1 or text[number.start : end].isdecimal())
    )


def _unit_after(text: str, at: int) -> tuple[Unit | None, int]:
    """Returns the unit after a number, but not the symbol of "1 - T" or "2 m_1"."""
    known, end = unit_after(text, at)
    return (None, at) if _NO_UNIT.match(text, at) or text[end : end + 1] == "_" else (known, end)


def _is_beside_symbol(
    text: str, number: Value, end: int, unit: Unit | None, unit_end: int, *, behind_number: bool
) -> bool:
    if unit is not None and not (_FACTOR.match(text, unit_end) or _LIKE_A_UNIT.fullmatch(text, end, unit_end)):
        return False
    if _BEFORE_SYMBOL.match(text, end):
        return True
    return not behind_number and _BEHIND_SYMBOL.search(text[max(0, number.start - _BEFORE) : number.start]) is not None


def _with_conversions(text: str, found: list[StatedNumber]) -> list[StatedNumber]:
    free = {place for place, number in enumerate(found) if _is_conversion(text, number)}
    for place, (one, other) in enumerate(pairwise(found)):
        if 1 in (one.value, other.value) and _SAME.fullmatch(text, one.end, other.start) and _equal(one, other):
            free |= {place, place + 1}
    return [replace(number, free=number.free or place in free) for place, number in enumerate(found)]


def _is_conversion(text: str, number: StatedNumber) -> bool:
    """Whether the number converts its unit to one of another that is named in words."""
    whole = None
    if after := _OF_ONE.match(text, number.end):
        whole = unit_after(text, after.end())[0]
    elif before := _ONE_IS.search(text[max(0, number.start - _BEFORE) : number.start]):
        whole = unit(before[1])
    return whole is not None and _equal(number, replace(number, value=1.0, unit=whole))


def _equal(one: StatedNumber, other: StatedNumber) -> bool:
    if one.unit is None or other.unit is None or one.unit.kind != other.unit.kind:
        return False
    return math.isclose(one.value * one.unit.factor, other.value * other.unit.factor, rel_tol=1e-6)
