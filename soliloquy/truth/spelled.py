"""Parses numbers in words: "one hundred and fifty", "three point seven", "two fifths", "half a", "minus thirteen"."""

import re
import tomllib
from pathlib import Path

from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.phrases import words_of

_TABLE = tomllib.loads(Path(__file__).with_name("numbers.toml").read_text("utf-8"))
MAGNITUDES: dict[str, float] = _TABLE["magnitudes"]
FRACTIONS: dict[str, float] = {sign: top / bottom for sign, (top, bottom) in _TABLE["fractions"].items()}
_UNITS = {word: float(value) for value, word in enumerate(_TABLE["ones"])}
_TENS = {word: 10.0 * tens for tens, word in enumerate(_TABLE["tens"], start=2)}
_PARTS: dict[str, int] = _TABLE["parts"]
WORDS_BEFORE_MINUS: list[str] = _TABLE["before_minus"]

ONES = "|".join(_UNITS)
_ONE, _TEN, _LARGE, _PART = ("|".join(words) for words in (_UNITS, _TENS, MAGNITUDES, _PARTS))
_SMALL = rf"(?:(?:{_TEN})(?:[-\s](?:{_ONE}))?|(?:{_ONE}))"
_WHOLE = rf"(?:{_SMALL}|an?(?=\s(?:{_LARGE})\b))(?:(?:\s(?:{_LARGE})s?)+(?:\s(?:and\s)?{_SMALL})?)*"
# "Two fifths", "two-fifths", "two fifth of": "seven fifth graders" are seven, and the twenty-fifth is no part.
_SHARE = rf"(?:(?<!ty)-(?:{_PART})s?|\s(?:{_PART})s?(?:(?<=s)|(?=\s(?:of|an?)\b))|(?<=one)\s(?:{_PART}))"
# Stands behind "an" or "2" in "2 hours and a half".
AND_A_PART = rf"\s(?:[a-z]+\sand\sa\shalf|(?:{'|'.join(_TABLE['quartered'])})\sand\sa\squarter)\b(?!-|\s(?:of|dozen)\b)"
SPELLED = (
    r"(?:(?:minus|negative)\s)?"
    rf"(?:(?:{_WHOLE})(?:\spoint(?:\s(?:{_ONE}))+)?(?:\sand\s(?:an?\s|(?:{_ONE})\s)(?:{_PART})s?)?{_SHARE}?"
    rf"|an?\s(?:{_PART})(?=\s(?:of|an?)\b)|half(?=\san?\s)|an?(?={AND_A_PART}))"
)
_ANY_WORD = lazy_pattern(rf"\b(?:{_ONE}|{_TEN}|{_PART}|(?:an?)\s(?:{_LARGE}))\b", re.IGNORECASE)
_WORDS = {*_UNITS, *_TENS, *_PARTS, *MAGNITUDES}
_TOKEN = lazy_pattern(r"(?:ten|hundred)-thousandth|[a-z]+")


def has_any(text: str) -> bool:
    """Whether a text contains a number word, or part of one."""
    # The regular expression is slow, and most texts contain none of the words.
    return not _WORDS.isdisjoint(words_of(text)) and _ANY_WORD.search(text) is not None


def value_of(text: str) -> tuple[float, float]:
    """Returns the number that words stand for, and half a unit of its last digit."""
    total = current = 0.0
    sign, scale, half = 1.0, 0.0, 0.5
    words = _TOKEN.findall(text.lower())
    parts = None
    for position, word in enumerate(words):
        singular = word.removesuffix("s")
        if word in ("minus", "negative"):
            sign = -1.0
        elif word == "point":
            scale = 1.0
        elif word in _UNITS and scale:
            scale /= 10
            current += _UNITS[word] * scale
            half = scale / 2
        elif word in _UNITS or word in _TENS:
            current += _UNITS.get(word, 0.0) + _TENS.get(word, 0.0)
        elif words in (["a"], ["an"]):
            current, half = 1.0, 0.0
        elif singular in MAGNITUDES:
            if not current:
                # "a thousand million"
                current, total = total, 0.0
            current = (current or 1.0) * MAGNITUDES[singular]
            half = max(half, MAGNITUDES[singular] / 2)
            if MAGNITUDES[singular] > 100:
                total, current = total + current, 0.0
        elif word in _PARTS or singular in _PARTS:
            parts = _PARTS.get(word) or _PARTS[singular]
            total, current, half = _divide(words[:position], total + current, parts), 0.0, 0.0
    return sign * (total + current), half


def part_of(text: str) -> float:
    """Returns the part that a text ends with: 0.5 for "hours and a half"."""
    return 1 / _PARTS[text.split()[-1].lower()]


def _divide(before: list[str], count: float, parts: int) -> float:
    """Handles "two and a half" and "two fifths": the count so far is a whole number, or a number of parts."""
    if "and" in before:
        last = before[len(before) - before[::-1].index("and") :]
        of = _UNITS.get(last[0], 1.0) if last else 1.0
        whole = count - (of if last and last[0] in _UNITS else 0.0)
        return whole + of / parts
    return (count or 1.0) / parts
