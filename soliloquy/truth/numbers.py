"""Parses numbers as people write them in sentences."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.spelled import (
    AND_A_PART,
    FRACTIONS,
    MAGNITUDES,
    SPELLED,
    WORDS_BEFORE_MINUS,
    has_any,
    part_of,
    value_of,
)

# The significant digits of numbers that are not rounded, such as fractions and words.
EXACT = 15

# A float reaches 308.
LARGEST_EXPONENT = 300

_EXPONENT = lazy_pattern(r"[-+]?\d{1,6}")
_SEPARATOR = lazy_pattern("[,{}\u202f\u00a0 ]")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_PARTS = "".join(FRACTIONS)
# Excludes the digits of names (v2), exponents and longer numbers, and the minus of a difference.
_STATED = "|".join(rf"(?<=\b{word}\s)" for word in WORDS_BEFORE_MINUS)
_MINUS = rf"(?:{_STATED}|(?<=[:(=]\s)|(?<=[(=])|\A)minus\s|negative\s"
_SIGN = rf"(?P<sign>(?<![\d)}}\w])(?:[-−]|(?<![\d)}}\w]\s)[-−]\s|{_MINUS})(?=[\d.\\{_PARTS}]))?"
_BEGINS = rf"(?<![\w^.\u2070-\u207b])(?<![^\W\d_]-)(?<!\^[-−{{(]){_SIGN}"
_FRACTION_ENDS = r"(?!\w|\.\d|[\^²³]|\s?[/⁄*×(])"
# A quotient of decimals is a calculation unless a unit follows.
_UNIT_FOLLOWS = r"(?=\s?(?!is|and|so|to|we|or|if|I\b|a\b|in|as|but|for)[A-Za-zµΩ°%]{1,3}(?![A-Za-z]))"
_FRACTION = (
    rf"(?:(?P<whole>\d+)(?:\s+(?:and\s+)?|(?=[\\{_PARTS}])))?(?:\\[dt]?frac\{{(?P<top>\d+)\}}\{{(?P<bottom>\d+)\}}"
    rf"|(?P<over>\d+)\s?[/⁄]\s?(?P<under>\d+){_FRACTION_ENDS}"
    rf"|(?P<above>\d+(?:\.\d+)?)/(?P<below>\d+(?:\.\d+)?){_FRACTION_ENDS}{_UNIT_FOLLOWS}|(?P<vulgar>[{_PARTS}]))"
)
_RAISED = "[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+"
_POWER_OF_TEN = rf"10(?:\s*(?:\^|\*\*)\s*[({{]?\s*(?P<power>[-−+]?\d+)[)}}]?|(?P<raised_ten>{_RAISED}))"
_DECIMAL = (
    r"(?P<mantissa>(?:\d{1,3}(?:(?:[,\u202f\u00a0 ]|\{,\})\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
    r"(?:[eE](?P<e>[-+−]?\d+)(?![\d.]\d)|\s*(?:[×x*·]|\\times|\\cdot)\s*10\s*"
    rf"(?:(?:\^|\*\*)\s*[({{]?\s*(?P<ten>[-−+]?\s?\d+)\s*[)}}]?|(?P<raised>{_RAISED})))?"
)
_IN_DIGITS = rf"{_FRACTION}|{_POWER_OF_TEN}|{_DECIMAL}"
# Matches the rest of "two thousand", "three quarters of an hour" and "half a minute", but not of "30 a day".
_GOES_ON = (
    rf"(?:\s+(?P<magnitude>{'|'.join(MAGNITUDES)})s?\b)?"
    r"(?:\s+of\s+an?(?=\s)|(?(mantissa)(?!)|(?(word)(?<=half))\s+an?(?=\s)))?"
    # "2 hours and a half": the unit follows.
    rf"(?:(?=(?P<and_a_part>{AND_A_PART})))?"
)
# What a number in digits can start with; the lookahead skips most of a text.
_MAY_BEGIN = rf"[\-−.\d\\{_PARTS}]|minus|negative"
_NUMBER = lazy_pattern(rf"(?={_MAY_BEGIN}){_BEGINS}(?:{_IN_DIGITS}|(?P<word>\b\B)){_GOES_ON}", re.IGNORECASE)
_OR_WORD = lazy_pattern(rf"{_BEGINS}(?:{_IN_DIGITS}|\b(?P<word>{SPELLED})\b){_GOES_ON}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Number:
    value: float
    # Half a unit of the last digit: the largest rounding error.
    half: float
    # Significant digits as written; EXACT for fractions and words.
    digits: int
    start: int
    end: int
    spelled: bool = False


# Several rules parse the same text.
@lru_cache(256)
def numbers_in(text: str) -> Sequence[Number]:
    """Returns every number of a text, in order, including powers of ten, fractions and numbers in words."""
    matches = (_OR_WORD if has_any(text) else _NUMBER).finditer(text)
    return tuple(filter(None, map(_number, matches)))


@lru_cache(256)
def numbers_in_digits(text: str) -> Sequence[Number]:
    """Ignores numbers in words, which are more often pronouns than numbers."""
    return tuple(filter(None, map(_number, _NUMBER.finditer(text))))


def _number(found: re.Match[str]) -> Number | None:
    start = found.start() + len(found[0]) - len(found[0].lstrip())
    sign = -1.0 if found["sign"] else 1.0
    scale = MAGNITUDES[found["magnitude"].lower()] if found["magnitude"] else 1.0
    if found["mantissa"]:
        value, half, digits = _decimal(found)
    elif found["word"]:
        value, half = value_of(found["word"])
        digits = EXACT
    elif power := found["power"] or found["raised_ten"]:
        value, half, digits = power_of_ten(power.translate(_SUPERSCRIPTS)), 0.0, EXACT
    else:
        value, half, digits = _fraction(found), 0.0, EXACT
    if found["and_a_part"]:
        value, half, digits = value + part_of(found["and_a_part"]), 0.0, EXACT
    if not math.isfinite(value * scale):
        return None
    return Number(sign * value * scale, half * scale, digits, start, found.end(), bool(found["word"]))


def _decimal(found: re.Match[str]) -> tuple[float, float, int]:
    mantissa = _SEPARATOR.sub("", found["mantissa"])
    power = found["e"] or found["ten"] or (found["raised"] or "0").translate(_SUPERSCRIPTS)
    exponent = exponent_of(power)
    value = float(f"{mantissa}e{exponent}") if exponent is not None else math.inf
    if exponent is None or math.isinf(value):
        return math.inf, 0.0, 0
    whole, _, decimals = mantissa.partition(".")
    plain = (whole + decimals).lstrip("0")
    # Trailing zeros of a whole number may be placeholders.
    digits = len(plain if decimals else plain.rstrip("0"))
    place = -len(decimals) if decimals else len(plain) - len(plain.rstrip("0"))
    return value, 0.5 * 10.0 ** (place + exponent), max(digits, 1)


def _fraction(found: re.Match[str]) -> float:
    whole = float(found["whole"] or 0)
    if found["vulgar"]:
        return whole + FRACTIONS[found["vulgar"]]
    top, bottom = (
        float(found["top"] or found["over"] or found["above"]),
        float(found["bottom"] or found["under"] or found["below"]),
    )
    return whole + top / bottom if bottom else math.inf


def power_of_ten(exponent: str) -> float:
    power = exponent_of(exponent)
    return math.inf if power is None else 10.0**power


def exponent_of(text: str) -> int | None:
    """Returns a written exponent; None if it is no whole number, or larger than measured things need."""
    plain = text.replace("−", "-").replace(" ", "")
    return int(plain) if _EXPONENT.fullmatch(plain) and abs(int(plain)) <= LARGEST_EXPONENT else None
