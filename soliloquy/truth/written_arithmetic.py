"""Splits arithmetic as people write it into tokens: "50 kg × 10 m/s²", "$3.50 x 4", "\\frac{1}{2}(25.2)^2"."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from soliloquy.truth.arithmetic_policy import WORDS
from soliloquy.truth.markup import without_markup
from soliloquy.truth.numbers import exponent_of
from soliloquy.truth.spelled import FRACTIONS, MAGNITUDES, SPELLED, has_any, value_of
from soliloquy.truth.units import Unit, measure, unit, unit_after

Kind = Literal[
    "number", "operator", "raised", "open", "close", "function", "fraction", "factorial", "equals", "word", "break"
]

_PARTS = "".join(FRACTIONS)
# "1,250,000", in India "12,50,000", in LaTeX "1{,}250{,}000"; on the continent "12,5", "1.250,50", "1 250 000".
_COMMA = r"(?:,|\{,\})"
_DIGITS = (
    rf"(?:[1-9]\d{{0,2}}(?:\.\d{{3}})+{_COMMA}\d{{1,2}}(?!\d)|[1-9]\d{{0,2}}(?:\.\d{{3}}){{2,}}(?!\.?\d)"
    rf"|[1-9]\d{{0,2}}(?:(?:[ \u00a0\u202f]{{1,2}}|['’])\d{{3}})+(?!\d)(?:[.,]\d+)?"
    rf"|(?:\d{{1,3}}(?:{_COMMA}\d{{3}})+(?!\d)|\d{{1,2}}(?:,\d{{2}})+,\d{{3}}(?!\d)|\d+(?!\d|{_COMMA}\d))(?:\.\d+)?"
    rf"|\d+{_COMMA}\d{{1,2}}(?!\d)|\d+|\.\d+)"
)
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_NUMBER = re.compile(
    r"(?P<whole>\d+) (?P<top>\d)/(?P<bottom>\d\d?)(?!\d|\.\d)"
    r"|(?P<hours>[01]?\d|2[0-3]):(?P<minutes>[0-5]\d)(?![\d:])"
    rf"|(?:(?P<mantissa>{_DIGITS})\s*(?:[×x*·]|\\times|\\cdot)\s*)?10\s*(?:(?:\^|\*\*)\s*(?:[({{]\s*(?P<within>[-+]?\s?\d+)\s*[)}}]"
    rf"|(?P<behind>[-+]?\d+)(?![\d.]))|(?P<superscript>[{_SUPERSCRIPTS}]+))"
    rf"|(?P<number>{_DIGITS})(?:[eE](?P<power>[-+]?\d+)|(?P<vulgar>[{_PARTS}]))?|(?P<lone>[{_PARTS}])"
)
_FIRST_OF_NUMBERS = frozenset(f"0123456789.$£€{_PARTS}")
_IN_WORDS = re.compile(rf"\b{SPELLED}\b", re.IGNORECASE)
_GROUPING = re.compile(r"[\s'’]+")
_CONTINENTAL = re.compile(r"(?:\d+|\d{1,3}(?:\.\d{3})+),\d{1,2}|\d{1,3}(?:\.\d{3}){2,}")
# A decimal, or a thousand and more on the continent.
_AMBIGUOUS = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_MAGNITUDE = re.compile(rf"\s(?P<word>{'|'.join(MAGNITUDES)})\b", re.IGNORECASE)
_EXPONENT = re.compile(rf"(?P<number>{_DIGITS})")
_WHOLE = re.compile(r"-?\d{1,6}")
_WIDEST_GAP = 20
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_CURRENCY = re.compile(r"[$£€]\s?(?=[\d.])")
_PERCENT_OR_DEGREE = re.compile(r"\s?(?P<percent>%|percent\b)|\s?(?:\^\s?(?:\{\s*)?\\circ\s*\}?|\\degree)")
# Text behind a number that is another operand, and no unit: "3 - m", "5 x 4".
_NO_UNIT = (" -", " x ")


def _any(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=len, reverse=True)
    return rf"\b(?:{'|'.join(longest_first).replace(' ', chr(92) + 's+')})\b"


_EQUALS = rf"=(?!>)|→|≈|≃|≅|≐|\\(?:approx|simeq|cong)\b|(?:,\s)?(?:i\.e\.,?|{_any(WORDS.equals)})"
_STATES = re.compile(_EQUALS, re.IGNORECASE)
# Signs and words that state the same quantity again; the end of a line may stand before them.
_RESTATES = re.compile(
    rf"=(?!>)|[≈≃≅≐]|\\(?:approx|simeq|cong)\b|(?:,\s)?(?:i\.e\.|{_any(WORDS.restates)})", re.IGNORECASE
)
_TOKEN = re.compile(
    r"(?P<space>[^\S\r\n]+|\$)|(?P<line>\s+)"
    rf"|(?P<equals>{_EQUALS})"
    r"|(?P<subscript>_(?:\{[^{}]*\}|\w))"
    rf"|(?P<power>\*\*|\^)|(?P<raised>[{_SUPERSCRIPTS}]+)"
    rf"|(?P<times>[*×·∙⋅✕]|\\times\b|\\cdot\b|{_any(WORDS.times)}|[xX](?=\s*(?:[(\[{{\\√$£€.]\s?|-)?\d))"
    rf"|(?P<over>[/÷∕⁄]|\\div\b|{_any(WORDS.over)})|(?P<plus>\+|{_any(WORDS.plus)})|(?P<minus>-|{_any(WORDS.minus)})|(?P<of>\bof\b)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<fraction>\\[dt]?frac(?![A-Za-z]))"
    r"|(?P<ratio>:)|(?P<bar>\|)|(?P<factorial>(?<=[\d)])!(?=\s*[-+*/=)}^·×∙⋅÷:\\]|\s*\d+!))"
    r"|(?P<function>√|\\?\b(?:sqrt|arcsin|arccos|arctan|sin|cos|tan|ln|log(?:_?\{?\d+\}?)?)(?![^\W_]))|(?P<pi>π|\\pi\b|\bpi\b)"
    rf"|(?P<word>[^\W\d_](?:[^\W{_SUPERSCRIPTS}]|'|-(?=[^\W\d_]))*)",
    re.IGNORECASE,
)
# "8 : 2 = 4", "84 cm : 6 = 14 cm", "18:24 = 3:4"; elsewhere a colon is punctuation, or a ratio that is only named.
_DIVIDES = re.compile(rf"(?<=\s):\s{_DIGITS}\s?[^\W\d]{{0,3}}\s?=|:{_DIGITS}\s?=\s?\d+\s?:")
_RATIO = re.compile(r"(?<=\d):\d")
_CALCULATES_ON = re.compile(r"\s*(?:[-+*/^×·∙⋅÷]|x\b|\\(?:times|cdot)\b)")
# Signs behind which a number may be rounded freely.
ROUGHLY = frozenset(["≈", "≃", "≅", "≐", "\\approx", "\\simeq", "\\cong"])
_SIGNS = {"times": "*", "over": "/", "plus": "+", "minus": "-", "power": "^"}
_EXPONENTS = str.maketrans(_SUPERSCRIPTS, "0123456789-")
_LABEL = re.compile(rf"(?:\b(?:{'|'.join(WORDS.labels)})\.?|#)[^\S\n]*\Z", re.IGNORECASE)
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


def may_calculate(text: str) -> bool:
    """Whether a text says anywhere that something equals something; splitting it into tokens takes much longer."""
    return _STATES.search(text) is not None


def is_restated(sign: str) -> bool:
    return _RESTATES.match(sign) is not None


def tokens_of(text: str) -> list[Written]:
    """Returns every token of a text, words included; a bracket that nothing opens ends a line: "Step 2) 3 + 4 = 7"."""
    text = without_markup(text)
    in_words = has_any(text)
    found: list[Written] = []
    at = depth = 0
    while at < len(text):
        may_be_number = text[at] in _FIRST_OF_NUMBERS or (in_words and text[at].isalpha())
        token = (may_be_number and _number_at(text, at, found, in_words=in_words)) or _token_at(text, at, found)
        depth = 0 if token.kind == "break" else depth + (token.kind == "open") - (token.kind == "close")
        if depth < 0:
            token, depth = Written("break", token.text, token.start, token.end), 0
        if token.kind != "word" or token.text.strip():
            found.append(token)
        at = token.end
    return found


def _number_at(text: str, at: int, before: Sequence[Written], *, in_words: bool) -> Written | None:
    if before and before[-1].text == "^" and (plain := _EXPONENT.match(text, at)):
        own, end = _unit_at(text, plain.end())
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
    is_name = _ORDINAL.match(text, match.end()) or _LABEL.search(text, max(0, at - _LONGEST_LABEL), at)
    if is_name or not math.isfinite(value):
        return Written("break", match[0], at, match.end())
    magnitude = _MAGNITUDE.match(text, match.end())
    scale = MAGNITUDES[magnitude["word"].lower()] if magnitude else 1.0
    digits = match["mantissa"] or match["number"] or ""
    rounded = "." in digits and len(digits.replace(".", "").lstrip("0")) >= 3
    zeros = 0 if "." in digits or match["mantissa"] else _trailing_zeros(_plain(digits))
    own, end = unit("$") if currency else None, (magnitude or match).end()
    if match["hours"]:
        own = unit("min")
    if currency and text.startswith("/", end):
        # "$20/hour"
        below, behind = unit_after(text, end + 1)
        if below and (rate := measure(f"(dollar)/({below.measure})")):
            own, end = rate, behind
    if own is None:
        own, end = _unit_at(text, end)
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
    )


def _is_bare_part(before: Sequence[Written]) -> bool:
    """Whether a fraction's part without braces follows: "\\frac16"."""
    kinds = [token.kind for token in before[-2:]]
    return kinds[-1:] == ["fraction"] or (kinds == ["fraction", "number"] and before[-1].text.isdigit())


def _unit_at(text: str, at: int) -> tuple[Unit | None, int]:
    if text.startswith(_NO_UNIT, at):
        return None, at
    # LaTeX leaves wide gaps.
    spaces = len(text[at : at + _WIDEST_GAP]) - len(text[at : at + _WIDEST_GAP].lstrip(" "))
    own, end = unit_after(text, at + max(0, spaces - 1))
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
    power = match["within"] or match["behind"] or match["power"] or (match["superscript"] or "0").translate(_EXPONENTS)
    exponent = exponent_of(power)
    if exponent is None or len(digits) > 100:
        return math.inf, 0.0
    value = float(f"{digits}e{exponent}")
    if match["vulgar"]:
        return value + FRACTIONS[match["vulgar"]], 0.0
    exact = not match["mantissa"] and not match["number"]
    return value, 0.0 if exact else 10.0 ** (exponent - len(digits.partition(".")[2]))


def _token_at(text: str, at: int, before: Sequence[Written]) -> Written:
    match = _TOKEN.match(text, at)
    if match is None:
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
            return Written("raised", said, start, end, float(exponent)) if _WHOLE.fullmatch(exponent) else _word(match)
        case "times" if said in "xX" and _is_unknown(text, end, before):
            return _word(match)
        case "of":
            return Written("operator", "of", start, end) if _is_share(before) else _word(match)
        case "open" | "fraction" | "equals":
            return Written(kind, said, start, end)
        case "close":
            own, behind = _unit_at(text, end)
            # The A of "(20/100) A x 200" is a symbol.
            is_symbol = own is None or _CALCULATES_ON.match(text, behind)
            return Written("close", said, start, end) if is_symbol else Written("close", said, start, behind, unit=own)
        case "function":
            return Written("function", re.sub(r"\W|_", "", said.lower().replace("√", "sqrt")), start, end)
        case "bar":
            opens = text[end : end + 1].strip() and not (
                before and before[-1].end == start and before[-1].kind != "open"
            )
            closes = before and before[-1].end == start and before[-1].kind in ("number", "close")
            return Written("open" if opens else "close" if closes else "break", said, start, end)
        case "factorial":
            return Written("factorial", said, start, end)
        case "ratio":
            divides = _DIVIDES.match(text, start) if before and before[-1].kind in ("number", "close") else None
            is_stated = len(before) > 1 and before[-2].kind == "equals"
            kind_of_colon: Kind = "operator" if divides or (is_stated and _RATIO.match(text, start)) else "break"
            return Written(kind_of_colon, "/" if kind_of_colon == "operator" else said, start, end)
        case "subscript":
            return Written("break", said, start, end)
        case "pi":
            own, end = _unit_at(text, end)
            return Written("number", "π", start, end, math.pi, unit=own)
        case "word":
            return _word(match)
    return Written("operator", _SIGNS[kind], start, end)


def _word(match: re.Match[str]) -> Written:
    return Written("word", match[0], *match.span())


def _is_unknown(text: str, at: int, before: Sequence[Written]) -> bool:
    """Whether an x before a minus sign is no sign: in "(x -2)" and "2x -3 = 7", but not in "2 x -3 = -6"."""
    last = before[-1] if before else None
    starts = last is None or last.kind in ("operator", "open", "equals", "break")
    return text[at : at + 2].lstrip().startswith("-") and (starts or (last is not None and last.end == at - 1))


def _is_share(before: Sequence[Written]) -> bool:
    """Whether "of" multiplies: "20% of 80", "3/4 of 12", but not "2 boxes of 12"."""
    last = before[-1] if before else None
    if last is None or last.kind not in ("number", "close"):
        return False
    divided = len(before) > 1 and before[-2].kind == "operator" and before[-2].text == "/"
    return divided or last.kind == "close" or last.unit is PERCENT or last.text in FRACTIONS or 0 < last.value < 1
