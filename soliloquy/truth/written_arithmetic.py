"""Splits arithmetic as people write it into tokens: "50 kg × 10 m/s²", "$3.50 x 4", "\\frac{1}{2}(25.2)^2"."""

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from soliloquy.truth.arithmetic_policy import WORDS
from soliloquy.truth.markup import end_of_gap, without_markup
from soliloquy.truth.number_meanings import FRACTIONS
from soliloquy.truth.numbers import has_number_word
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.quantity_grammar import Quantity, parse
from soliloquy.truth.unit_table import Unit
from soliloquy.truth.units import unit, unit_after

Kind = Literal["number", "operator", "raised", "open", "close", "function", "fraction", "equals", "word", "break"]

_FIRST_OF_NUMBERS = frozenset(f"0123456789.$£€{''.join(FRACTIONS)}")
# A decimal, or a thousand and more on the continent.
_AMBIGUOUS = lazy_pattern(r"[1-9]\d{0,2}\.\d{3}")
_NUMERAL = lazy_pattern(rf"[\d{''.join(FRACTIONS)}π]|\bpi\b", re.IGNORECASE)
_EXPONENT = lazy_pattern(r"\d+(?:\.\d+)?")
_ORDINAL = lazy_pattern(r"(?:st|nd|rd|th)\b")
_LABEL = lazy_pattern(rf"(?:\b(?:{'|'.join(WORDS['labels'])})\.?|#)[^\S\n]*\Z", re.IGNORECASE)
_LONGEST_LABEL = 12
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
    # Whether rounding may have removed further digits: a decimal of at least three digits.
    rounded: bool = False
    unit: Unit | None = None
    # A dozen or a million, which also may be what is counted: "48 / 12 = 4 dozen".
    scale: float = 1.0
    # Whether its point may separate thousands.
    ambiguous: bool = False
    # The unit as written: the "€" of "€5", the "m/s" of "3 m/s".
    unit_text: str = ""


_WHOLE = lazy_pattern(r"-?\d{1,6}")
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_EXPONENTS = str.maketrans(_SUPERSCRIPTS, "0123456789-")
_DIGITS = r"\d+(?:[.,]\d+)*"


def _any(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=len, reverse=True)
    return rf"\b(?:{'|'.join(longest_first).replace(' ', chr(92) + 's+')})\b"


_EQUALS = rf"=(?!>)|→|≈|≃|≅|≐|\\(?:approx|simeq|cong)\b|(?:,\s)?(?:i\.e\.,?|{_any(WORDS['equals'])})"
_STATES = lazy_pattern(_EQUALS, re.IGNORECASE)
# Signs and words that state the same quantity again; the end of a line may stand before them.
_RESTATES = lazy_pattern(
    rf"=(?!>)|[≈≃≅≐]|\\(?:approx|simeq|cong)\b|(?:,\s)?(?:i\.e\.|{_any(WORDS['restates'])})", re.IGNORECASE
)
_TOKEN = lazy_pattern(
    r"(?P<space>[^\S\r\n]+|\$)|(?P<line>\s+)"
    rf"|(?P<equals>{_EQUALS})"
    r"|(?P<break>_(?:\{[^{}]*\}|\w))"
    rf"|(?P<power>\*\*|\^)|(?P<raised>[{_SUPERSCRIPTS}]+)"
    rf"|(?P<times>[*×·∙⋅✕]|\\times\b|\\cdot\b|\b(?:times|multiplied\s+by)\b|[xX](?=\s*(?:[(\[{{\\√$£€.]\s?){{0,2}}\d))"
    # A colon divides in "84 cm : 6 = 14 cm" and "45:60 = 3:4"; elsewhere it is punctuation, or only names a ratio.
    rf"|(?P<over>[/÷∕⁄]|\\div\b|\bdivided\s+by\b|(?<=\s):(?=\s{_DIGITS}\s?[^\W\d]{{0,3}}\s?=)|(?<=\d):(?=\d+\s?=\s?\d)|(?<==\s\d):(?=\d))|(?P<plus>\+|\bplus\b)|(?P<minus>-|\bminus\b)|(?P<of>\bof\b)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<fraction>\\[dt]?frac(?![A-Za-z]))"
    r"|(?P<function>√|\\?\b(?:sqrt|arcsin|arccos|arctan|sin|cos|tan|ln|log(?:_?\{?\d+\}?)?)(?![^\W_]))|(?P<pi>π|\\pi\b|\bpi\b)"
    rf"|(?P<word>[^\W\d_](?:[^\W{_SUPERSCRIPTS}]|'|-(?=[^\W\d_]))*)",
    re.IGNORECASE,
)
_CALCULATES_ON = lazy_pattern(r"\s*(?:[-+*/^×·∙⋅÷]|x\b|\\(?:times|cdot)\b)")
# Signs behind which a number may be rounded freely.
ROUGHLY = frozenset(["≈", "≃", "≅", "≐", "\\approx", "\\simeq", "\\cong"])
_SIGNS = {"times": "*", "over": "/", "plus": "+", "minus": "-", "power": "^"}


def may_calculate(text: str) -> bool:
    """Whether a text says anywhere that something equals something; splitting it into tokens takes much longer."""
    return _STATES.search(text) is not None


def may_equate_numbers(text: str) -> bool:
    """Whether a text says so between two numbers."""
    numerals = [0, len(text)] if has_number_word(text) else [found.start() for found in _NUMERAL.finditer(text)]
    return len(numerals) > 1 and _STATES.search(text, numerals[0], numerals[-1]) is not None


def is_restated(sign: str) -> bool:
    return _RESTATES.match(sign) is not None


@lru_cache(64)
def tokens_of(text: str) -> Sequence[Written]:
    """Returns every token of a text, words included; a bracket that nothing opens ends a line: "Step 2) 3 + 4 = 7"."""
    text = without_markup(text)
    in_words = has_number_word(text)
    found: list[Written] = []
    at = depth = 0
    while at < len(text):
        if text[at] == " ":
            # Half of all tokens, of which nothing is kept.
            at += 1
            continue
        may_be_number = text[at] in _FIRST_OF_NUMBERS or (in_words and text[at].isalpha())
        token = (may_be_number and _number_at(text, at, found, in_words=in_words)) or _token_at(text, at, found)
        depth = 0 if token.kind == "break" else depth + (token.kind == "open") - (token.kind == "close")
        if depth < 0:
            token, depth = Written("break", token.text, token.start, token.end), 0
        if token.kind != "word" or token.text.strip():
            found.append(token)
        at = token.end
    return tuple(found)


def _token_at(text: str, at: int, before: Sequence[Written]) -> Written:
    if (match := _TOKEN.match(text, at)) is None:
        return Written("break", text[at], at, at + 1)
    start, end = match.span()
    said = match[0]
    match kind := str(match.lastgroup):
        case "space":
            return Written("word", "", start, end)
        case "line":
            # A calculation may go on in the next line, with its equals sign.
            goes_on = _RESTATES.match(text, end) or (before and before[-1].kind == "equals")
            return Written("word" if goes_on else "break", "", start, end)
        case "raised":
            exponent = said.translate(_EXPONENTS)
            if _WHOLE.fullmatch(exponent):
                return Written("raised", said, start, end, float(exponent))
            return Written("word", said, start, end)
        case "of":
            return Written("operator" if _is_share(before) else "word", said.lower(), start, end)
        case "word" | "open" | "fraction" | "equals" | "break":
            return Written(kind, said, start, end)
        case "close":
            own, behind = _unit_at(text, end)
            # The A of "(20/100) A x 200" is a symbol.
            is_unit = own is not None and not _CALCULATES_ON.match(text, behind)
            return Written("close", said, start, behind if is_unit else end, unit=own if is_unit else None)
        case "function":
            return Written("function", re.sub(r"\W|_", "", said.lower().replace("√", "sqrt")), start, end)
        case "pi":
            own, end = _unit_at(text, end)
            return Written("number", "π", start, end, math.pi, unit=own)
    return Written("operator", _SIGNS[kind], start, end)


def _is_share(before: Sequence[Written]) -> bool:
    """Whether "of" multiplies: "20% of 80", "3/4 of 12", but not "2 boxes of 12"."""
    last = before[-1] if before else None
    if last is None or last.kind not in ("number", "close"):
        return False
    divided = len(before) > 1 and before[-2].kind == "operator" and before[-2].text == "/"
    return divided or last.kind == "close" or last.unit is PERCENT or last.text in FRACTIONS or 0 < last.value < 1


def _number_at(text: str, at: int, before: Sequence[Written], *, in_words: bool) -> Written | None:
    """Returns the number that begins at a place, or a break for one that is a name; None for anything else."""
    if before and before[-1].text == "^" and (plain := _EXPONENT.match(text, at)):
        own, end = _unit_at(text, plain.end())
        return Written("number", plain[0], at, end, float(plain[0]), unit=own)
    if text[at].isdecimal() and _is_bare_part(before):
        return Written("number", text[at], at, at + 1, float(text[at]))
    parsed: Quantity | None = parse("operand", text, at)
    if parsed is None or (parsed.number.spelled and (not in_words or text[at : parsed.number.end].lower() == "one")):
        return None
    number = parsed.number
    if number.spelled:
        return Written("number", text[at : number.end], at, number.end, number.value)
    is_label = _LABEL.search(text, max(0, at - _LONGEST_LABEL), at)
    # The last digits of a number that is too large are no number either.
    if _ORDINAL.match(text, number.end) or is_label or not math.isfinite(number.value):
        return Written("break", text[number.start : number.end], at, number.end)
    is_unit = number.start > at or _is_unit(text, number.end, parsed.end)
    own, end = (parsed.unit, parsed.end) if is_unit else (None, number.end)
    if ":" in text[at : number.end]:
        own = unit("min")
    # A fraction has no last digit.
    place = 10.0 ** (number.exponent - len(number.plain.partition(".")[2])) if number.plain else 0.0
    is_rounded = "." in number.plain and len(number.plain.replace(".", "").lstrip("0")) >= 3
    is_ambiguous = _AMBIGUOUS.fullmatch(text[at : number.end]) is not None
    said = text[at : number.start].strip() + text[number.end : end].strip()
    rest = (place, is_rounded, own, number.scale, is_ambiguous, said)
    return Written("number", text[at:end], at, end, number.value, *rest)


def _is_bare_part(before: Sequence[Written]) -> bool:
    """Whether a fraction's part without braces follows: "\\frac16"."""
    kinds = [token.kind for token in before[-2:]]
    return kinds[-1:] == ["fraction"] or (kinds == ["fraction", "number"] and before[-1].text.isdigit())


def _is_unit(text: str, start: int, end: int) -> bool:
    """Whether what looks like a unit is none: "T1" is a symbol."""
    return not (text[end : end + 1].isalnum() or "\n" in text[start:end])


def _unit_at(text: str, at: int) -> tuple[Unit | None, int]:
    """Returns the unit behind a number, and its end."""
    own, end = unit_after(text, end_of_gap(text, at))
    return (own, end) if own is not None and _is_unit(text, at, end) else (None, at)
