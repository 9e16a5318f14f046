"""Reads the numbers of written arithmetic, with their units: "1.250,50", "$3.50", "2 × 10^-3 m", "12 dozen"."""

import math
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from soliloquy.truth.arithmetic_policy import WORDS
from soliloquy.truth.markup import end_of_gap
from soliloquy.truth.numbers import exponent_of
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.spelled import FRACTIONS, MAGNITUDES, SPELLED, value_of
from soliloquy.truth.units import Unit, measure, unit, unit_after

Kind = Literal[
    "number", "operator", "raised", "open", "close", "function", "fraction", "factorial", "equals", "word", "break"
]

_PARTS = "".join(FRACTIONS)
# "1,250,000", in India "12,50,000", in LaTeX "1{,}250{,}000"; on the continent "12,5", "1.250,50", "1 250 000".
_COMMA = r"(?:,|\{,\})"
DIGITS = (
    rf"(?:[1-9]\d{{0,2}}(?:\.\d{{3}})+{_COMMA}\d{{1,2}}(?!\d)|[1-9]\d{{0,2}}(?:\.\d{{3}}){{2,}}(?!\.?\d)"
    rf"|[1-9]\d{{0,2}}(?:(?:[ \u00a0\u202f]{{1,2}}|['’])\d{{3}})+(?!\d)(?:[.,]\d+)?"
    rf"|(?:\d{{1,3}}(?:{_COMMA}\d{{3}})+(?!\d)|\d{{1,2}}(?:,\d{{2}})+,\d{{3}}(?!\d)|\d+(?!\d|{_COMMA}\d))(?:\.\d+)?"
    rf"|\d+{_COMMA}\d{{1,2}}(?!\d)|\d+|\.\d+)"
)
SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_NUMBER = lazy_pattern(
    r"(?P<whole>\d+) (?P<top>\d)/(?P<bottom>\d\d?)(?!\d|\.\d)"
    r"|(?P<hours>[01]?\d|2[0-3]):(?P<minutes>[0-5]\d)(?![\d:])"
    rf"|(?:(?P<mantissa>{DIGITS})\s*(?:[×x*·]|\\times|\\cdot)\s*)?10\s*(?:(?:\^|\*\*)\s*(?:[({{]\s*(?P<within>[-+]?\s?\d+)\s*[)}}]"
    rf"|(?P<behind>[-+]?\d+)(?![\d.]))|(?P<superscript>[{SUPERSCRIPTS}]+))"
    rf"|(?P<number>{DIGITS})(?:[eE](?P<power>[-+]?\d+)|(?P<vulgar>[{_PARTS}]))?|(?P<lone>[{_PARTS}])"
)
FIRST_OF_NUMBERS = frozenset(f"0123456789.$£€{_PARTS}")
_IN_WORDS = lazy_pattern(rf"\b{SPELLED}\b", re.IGNORECASE)
_GROUPING = lazy_pattern(r"[\s'’]+")
_CONTINENTAL = lazy_pattern(r"(?:\d+|\d{1,3}(?:\.\d{3})+),\d{1,2}|\d{1,3}(?:\.\d{3}){2,}")
# A decimal, or a thousand and more on the continent.
_AMBIGUOUS = lazy_pattern(r"[1-9]\d{0,2}\.\d{3}")
_MAGNITUDE = lazy_pattern(rf"\s(?P<word>{'|'.join(MAGNITUDES)})\b", re.IGNORECASE)
_EXPONENT = lazy_pattern(rf"(?P<number>{DIGITS})")
_ORDINAL = lazy_pattern(r"(?:st|nd|rd|th)\b")
_CURRENCY = lazy_pattern(r"[$£€]\s?(?=[\d.])")
_PERCENT_OR_DEGREE = lazy_pattern(r"\s?(?P<percent>%|percent\b)|\s?(?:\^\s?(?:\{\s*)?\\circ\s*\}?|\\degree)")
# Text behind a number that is another operand, and no unit: "3 - m", "5 x 4".
_NO_UNIT = (" -", " x ")
EXPONENTS = str.maketrans(SUPERSCRIPTS, "0123456789-")
_LABEL = lazy_pattern(rf"(?:\b(?:{'|'.join(WORDS.labels)})\.?|#)[^\S\n]*\Z", re.IGNORECASE)
_LONGEST_LABEL = 12
# A factor of an unknown is none: "the equation 3x + 2 = 8".
_UNKNOWN_BEHIND = lazy_pattern(r"[^\W\d_](?:\s*[+=*/^²]|\s*[-−]\s*\d)")
PERCENT = unit("%")


class Written(NamedTuple):
    """A token."""

    kind: Kind
    # An operator's sign: + - * / ^ of.
    text: str
    start: int
    end: int
    value: float = 0.0
    # The place value of the last digit; 0 for fractions and powers of ten.
    place: float = 0.0
    # The place value of the last digit that is not a trailing zero of a whole number, if two digits remain.
    coarse: float = 0.0
    # Whether rounding may have removed further digits: a decimal of at least three digits.
    rounded: bool = False
    unit: Unit | None = None
    # A dozen or a million, which also may be what is counted: "48 / 12 = 4 dozen".
    scale: float = 1.0
    # Whether it is written with a power of ten.
    has_power: bool = False
    # Whether its point may separate thousands.
    ambiguous: bool = False
    # The unit as written: the "€" of "€5", the "m/s" of "3 m/s".
    unit_text: str = ""


def number_at(text: str, at: int, before: Sequence[Written], *, in_words: bool) -> Written | None:
    """Returns the number that begins at a place, or a break for one that is a name; None for anything else."""
    if before and before[-1].text == "^" and (plain := _EXPONENT.match(text, at)):
        own, end = unit_at(text, plain.end())
        return Written("number", plain[0], at, end, float(_plain(plain["number"])), unit=own)
    currency = _CURRENCY.match(text, at)
    if text[at].isdecimal() and _is_bare_part(before):
        return Written("number", text[at], at, at + 1, float(text[at]))
    match = _NUMBER.match(text, currency.end() if currency else at)
    if match is None and in_words and (words := _IN_WORDS.match(text, at)) and words[0].lower() != "one":
        return Written("number", words[0], at, words.end(), value_of(words[0])[0])
    if match is None:
        return None
    value, place = _value(match)
    # The last digits of a number that is too large are no number either.
    is_label = _LABEL.search(text, max(0, at - _LONGEST_LABEL), at) and not _UNKNOWN_BEHIND.match(text, match.end())
    if _ORDINAL.match(text, match.end()) or is_label or not math.isfinite(value):
        return Written("break", match[0], at, match.end())
    magnitude = _MAGNITUDE.match(text, match.end())
    scale = MAGNITUDES[magnitude["word"].lower()] if magnitude else 1.0
    digits = match["mantissa"] or match["number"] or ""
    rounded = "." in digits and len(digits.replace(".", "").lstrip("0")) >= 3
    zeros = 0 if "." in digits or match["mantissa"] else _trailing_zeros(_plain(digits))
    number_end = end = (magnitude or match).end()
    own = unit("$") if currency else None
    if match["hours"]:
        own = unit("min")
    if currency and text.startswith("/", end):
        # "$20/hour"
        below, behind = unit_after(text, end + 1)
        if below and (rate := measure(f"(dollar)/({below.measure})")):
            own, end = rate, behind
    if own is None:
        own, end = unit_at(text, end)
    if own is None and (mark := _PERCENT_OR_DEGREE.match(text, end)):
        own, end = PERCENT if mark["percent"] else unit("°"), mark.end()
    return Written(
        "number",
        text[at:end],
        at,
        end,
        value,
        place,
        place * 10.0**zeros,
        rounded,
        own,
        scale,
        has_power=match["mantissa"] is not None,
        ambiguous=_AMBIGUOUS.fullmatch(digits) is not None and scale == 1.0,
        unit_text=(currency[0].strip() if currency else "") + text[number_end:end].strip(),
    )


def _is_bare_part(before: Sequence[Written]) -> bool:
    """Whether a fraction's part without braces follows: "\\frac16"."""
    kinds = [token.kind for token in before[-2:]]
    return kinds[-1:] == ["fraction"] or (kinds == ["fraction", "number"] and before[-1].text.isdigit())


def unit_at(text: str, at: int) -> tuple[Unit | None, int]:
    """Returns the unit behind a number, and its end."""
    if text.startswith(_NO_UNIT, at):
        return None, at
    own, end = unit_after(text, end_of_gap(text, at))
    # "T1" is a symbol.
    is_unit = own is not None and not text[end : end + 1].isalnum() and "\n" not in text[at:end]
    return (own, end) if is_unit else (None, at)


def _plain(digits: str) -> str:
    digits = _GROUPING.sub("", digits).replace("{,}", ",")
    if _CONTINENTAL.fullmatch(digits):
        return digits.replace(".", "").replace(",", ".")
    return digits.replace(",", "")


def _trailing_zeros(digits: str) -> int:
    return max(0, min(len(digits) - 2, len(digits) - len(digits.rstrip("0"))))


def _value(match: re.Match[str]) -> tuple[float, float]:
    """Returns a number and the place value of its last digit."""
    if match["whole"]:
        bottom = float(match["bottom"])
        return (float(match["whole"]) + float(match["top"]) / bottom if bottom else math.inf), 0.0
    if match["lone"]:
        return FRACTIONS[match["lone"]], 0.0
    if match["hours"]:
        return float(match["hours"]) * 60 + float(match["minutes"]), 1.0
    digits = _plain(match["mantissa"] or match["number"] or "1")
    power = match["within"] or match["behind"] or match["power"] or (match["superscript"] or "0").translate(EXPONENTS)
    exponent = exponent_of(power)
    if exponent is None or len(digits) > 100:
        return math.inf, 0.0
    value = float(f"{digits}e{exponent}")
    if match["vulgar"]:
        return value + FRACTIONS[match["vulgar"]], 0.0
    exact = not match["mantissa"] and not match["number"]
    return value, 0.0 if exact else 10.0 ** (exponent - len(digits.partition(".")[2]))
