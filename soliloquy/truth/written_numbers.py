"""Reads the numbers of written arithmetic, with their units: "1.250,50", "$3.50", "2 × 10^-3 m", "12 dozen"."""

import math
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from soliloquy.truth.arithmetic_policy import WORDS
from soliloquy.truth.markup import end_of_gap
from soliloquy.truth.number_meanings import FRACTIONS, Value
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.quantity_grammar import Quantity, parse
from soliloquy.truth.unit_table import Unit
from soliloquy.truth.units import unit, unit_after

Kind = Literal["number", "operator", "raised", "open", "close", "function", "fraction", "equals", "word", "break"]

FIRST_OF_NUMBERS = frozenset(f"0123456789.$£€{''.join(FRACTIONS)}")
# A decimal, or a thousand and more on the continent.
_AMBIGUOUS = lazy_pattern(r"[1-9]\d{0,2}\.\d{3}")
_EXPONENT = lazy_pattern(r"\d+(?:\.\d+)?")
_ORDINAL = lazy_pattern(r"(?:st|nd|rd|th)\b")
# Text behind a number that is another operand, and no unit: "3 - m", "5 x 4".
_NO_UNIT = (" -", " x ")
_LABEL = lazy_pattern(rf"(?:\b(?:{'|'.join(WORDS['labels'])})\.?|#)[^\S\n]*\Z", re.IGNORECASE)
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
        return Written("number", plain[0], at, end, float(plain[0]), unit=own)
    if text[at].isdecimal() and _is_bare_part(before):
        return Written("number", text[at], at, at + 1, float(text[at]))
    parsed: Quantity | None = parse("operand", text, at)
    if parsed is None or (parsed.number.spelled and (not in_words or text[at : parsed.number.end].lower() == "one")):
        return None
    number = parsed.number
    if number.spelled:
        return Written("number", text[at : number.end], at, number.end, number.value)
    is_label = _LABEL.search(text, max(0, at - _LONGEST_LABEL), at) and not _UNKNOWN_BEHIND.match(text, number.end)
    # The last digits of a number that is too large are no number either.
    if _ORDINAL.match(text, number.end) or is_label or not math.isfinite(number.value):
        return Written("break", text[number.start : number.end], at, number.end)
    own, end = (parsed.unit, parsed.end) if number.start > at or _is_unit(text, parsed) else (None, number.end)
    if ":" in text[at : number.end]:
        own = unit("min")
    place, coarse = _places(number)
    return Written(
        "number",
        text[at:end],
        at,
        end,
        number.value,
        place,
        coarse,
        "." in number.plain and len(number.plain.replace(".", "").lstrip("0")) >= 3,
        own,
        number.scale,
        has_power=number.has_power and bool(number.plain),
        ambiguous=_AMBIGUOUS.fullmatch(text[at : number.end]) is not None,
        unit_text=text[at : number.start].strip() + text[number.end : end].strip(),
    )


def _places(number: Value) -> tuple[float, float]:
    """Returns the place value of the last digit, and of the last that is no trailing zero of a whole number."""
    if not number.plain:
        return 0.0, 0.0
    whole, _, decimals = number.plain.partition(".")
    place = 10.0 ** (number.exponent - len(decimals))
    zeros = 0 if decimals or number.has_power else max(0, min(len(whole) - 2, len(whole) - len(whole.rstrip("0"))))
    return place, place * 10.0**zeros


def _is_bare_part(before: Sequence[Written]) -> bool:
    """Whether a fraction's part without braces follows: "\\frac16"."""
    kinds = [token.kind for token in before[-2:]]
    return kinds[-1:] == ["fraction"] or (kinds == ["fraction", "number"] and before[-1].text.isdigit())


def _is_unit(text: str, parsed: Quantity) -> bool:
    """Whether what looks like a unit is none: "T1" is a symbol, and an operator may stand before it."""
    end = parsed.number.end
    return not (
        text.startswith(_NO_UNIT, end) or text[parsed.end : parsed.end + 1].isalnum() or "\n" in text[end : parsed.end]
    )


def unit_at(text: str, at: int) -> tuple[Unit | None, int]:
    """Returns the unit behind a number, and its end."""
    own, end = unit_after(text, end_of_gap(text, at))
    is_unit = not (text.startswith(_NO_UNIT, at) or text[end : end + 1].isalnum() or "\n" in text[at:end])
    return (own, end) if own is not None and is_unit else (None, at)
