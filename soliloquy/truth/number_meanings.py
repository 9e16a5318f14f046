"""The meanings of the numbers of `quantity.lark`: digits of any country, fractions, π and roots, and words."""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from soliloquy.truth.lalr import Meaning, Token
from soliloquy.truth.patterns import lazy_pattern

_TABLE = tomllib.loads(Path(__file__).with_name("numbers.toml").read_text("utf-8"))
MAGNITUDES: Mapping[str, float] = _TABLE["magnitudes"]
FRACTIONS: Mapping[str, float] = {sign: top / bottom for sign, (top, bottom) in _TABLE["fractions"].items()}
PARTS: Mapping[str, int] = _TABLE["parts"]
ONES = {name: float(value) for value, name in enumerate(_TABLE["ones"])}
TENS = {name: 10.0 * tens for tens, name in enumerate(_TABLE["tens"], start=2)}
QUARTERED: Sequence[str] = _TABLE["quartered"]
WORDS_BEFORE_MINUS: Sequence[str] = _TABLE["before_minus"]
# The significant digits of numbers that are not rounded, such as fractions and words.
EXACT = 15
# A float reaches 308.
_LARGEST_EXPONENT = 300
_LONGEST_DIGITS = 300
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")
_EXPONENT = lazy_pattern(r"[-+]?\d{1,6}")
_GROUPING = lazy_pattern(r"[\s'’{}]")
_CONTINENTAL = lazy_pattern(r"(?:\d{1,3}(?:\.\d{3})+|\d+),\d+|\d{1,3}(?:\.\d{3}){2,}")
_ENGLISH = lazy_pattern(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:,\d{3}){2,}|\d{1,2}(?:,\d{2})+,\d{3}")
_NUMBERS = lazy_pattern(r"\d+(?:\.\d+)?")


class Value(NamedTuple):
    """A number and where it stands."""

    value: float
    # Half a unit of the last digit: the largest rounding error.
    half: float
    # Significant digits as written; EXACT for fractions and words.
    digits: int
    start: int
    end: int
    # Its digits in English notation and its power of ten; no digits for fractions and words.
    plain: str = ""
    exponent: int = 0
    # A million, in "3 million"; the value of an operand is without it.
    scale: float = 1.0
    # π and the roots in it.
    factor: float = 1.0
    spelled: bool = False
    # "five fifty" is a price where money is meant, and two numbers elsewhere.
    open: bool = False


def exact(value: float, start: int, end: int, *, spelled: bool = False, factor: float = 1.0) -> Value:
    return Value(value, 0.0, EXACT, start, end, factor=factor, spelled=spelled)


def part_of(text: str) -> float:
    """Returns the part that "and three quarters", "a third" or "-fifths" names."""
    *counts, name = text.lower().strip().removeprefix("-").split()
    return ONES.get(counts[-1] if counts else "", 1.0) / (PARTS.get(name) or PARTS[name.removesuffix("s")])


def _decimal(parts: Sequence[Token]) -> Value:
    first, last = parts[0], parts[-1]
    power = 0 if first is last else _power(last.text.lstrip("eE"))
    if first.name == "TEN":
        return exact(math.inf if power is None else 10.0**power, first.start, last.end)
    value, half, digits, plain = _rounded(first.text, power)
    return Value(value, half, digits, first.start, last.end, plain, power or 0)


# A text says most of its numbers more than once.
@lru_cache(1024)
def _rounded(text: str, exponent: int | None) -> tuple[float, float, int, str]:
    """Returns the value, its rounding error, its significant digits and how it is written in English."""
    plain = _plain_digits(text)
    whole, _, decimals = plain.partition(".")
    digits = (whole + decimals).lstrip("0")
    if exponent is None or len(plain) > _LONGEST_DIGITS or math.isinf(value := float(f"{plain}e{exponent}")):
        return math.inf, 0.0, 0, ""
    # Trailing zeros of a whole number may be placeholders.
    significant = digits if decimals else digits.rstrip("0")
    place = -len(decimals) if decimals else len(digits) - len(significant)
    return value, 0.5 * 10.0 ** (place + exponent), max(len(significant), 1), plain


def _plain_digits(text: str) -> str:
    """Writes digits of any country in English without separators: "1250.5" for "1.250,5"."""
    text = _GROUPING.sub("", text)
    if _ENGLISH.fullmatch(text) or not _CONTINENTAL.fullmatch(text):
        return text.replace(",", "")
    return text.replace(".", "").replace(",", ".")


def _power(text: str) -> int | None:
    """Returns a written exponent; None if it is larger than measured things need."""
    plain = text.lower().translate(_SUPERSCRIPTS).strip("(){} \t").removesuffix("th")
    plain = re.sub(r"^(?:minus|negative)\s+", "-", plain).replace(" ", "")
    word = plain.lstrip("-+")
    if word in ONES:
        plain = plain.replace(word, f"{ONES[word]:.0f}")
    return int(plain) if _EXPONENT.fullmatch(plain) and abs(int(plain)) <= _LARGEST_EXPONENT else None


def _fraction(parts: Sequence[Token]) -> Value:
    [token] = parts
    if token.text in FRACTIONS:
        return exact(FRACTIONS[token.text], token.start, token.end)
    *whole, top, bottom = map(float, _NUMBERS.findall(token.text))
    return exact(sum(whole) + top / bottom if bottom else math.inf, token.start, token.end)


def _mixed(parts: Sequence[Any]) -> Value:
    whole, last = parts[0], parts[-1]
    part = part_of(last.text) if isinstance(last, Token) else last.value
    return exact(float(whole.text) + part, whole.start, last.end)


def _irrational(parts: Sequence[Token]) -> Value:
    [token] = parts
    value = math.pi if token.name == "PI" else math.sqrt(float(_NUMBERS.findall(token.text)[0]))
    return exact(value, token.start, token.end, factor=value)


def _exact(parts: Sequence[Any]) -> Value:
    parts = list(_flat(parts))
    values = [part for part in parts if isinstance(part, Value)]
    divisors = [part for part in parts if isinstance(part, Token) and part.name != "FRAC"]
    under = math.prod(float(_NUMBERS.findall(part.text)[0]) for part in divisors)
    value = math.prod(part.value for part in values) / under if under else math.inf
    whole = exact(value, parts[0].start, parts[-1].end, factor=math.prod(part.factor for part in values))
    first = values[0]
    is_rounded = "." in first.plain and first.value
    return whole._replace(half=first.half * value / first.value, digits=first.digits) if is_rounded else whole


def _flat(parts: Sequence[Any]) -> Iterator[Any]:
    for part in parts:
        if type(part) is list:
            yield from _flat(part)
        else:
            yield part


def _number(parts: Sequence[Any]) -> Value:
    """Applies "thousand", and takes "of an" along."""
    value = _begun(parts[0])
    for part in parts[1:]:
        scale = _scale_of(part)
        value = value._replace(value=value.value * scale, half=value.half * scale, scale=scale, end=part.end)
    return value


def _operand(parts: Sequence[Any]) -> Value:
    value = _begun(parts[0])
    for part in parts[1:]:
        if part.name == "VULGAR":
            value = exact(value.value + FRACTIONS[part.text], value.start, part.end)
        else:
            value = value._replace(scale=_scale_of(part), end=part.end)
    return value


def _begun(part: Any) -> Value:
    match part:
        case Token(name="HALF" | "LONE_A"):
            return exact(0.5 if part.name == "HALF" else 1.0, part.start, part.end, spelled=True)
        case Token(name="CLOCK"):
            hours, minutes = part.text.split(":")
            return _decimal([part._replace(text=f"{int(hours) * 60 + int(minutes)}")])
        case Token():
            return _fraction([part])
    value: Value = part
    return value


def _scale_of(token: Token) -> float:
    if token.name != "MAGNITUDE":
        return 1.0
    return 1000.0 if token.text == "k" else _magnitude(token)


def _magnitude(token: Token) -> float:
    return MAGNITUDES[token.text.lower().split()[-1].removesuffix("s")]


def _count(token: Token) -> float:
    return sum(TENS.get(name) or ONES[name] for name in token.text.lower().replace("-", " ").split())


def _spelled(parts: Sequence[Any]) -> Value:
    tokens: Sequence[Token] = [*_flat(parts)]
    start, end = tokens[0].start, tokens[-1].end
    # The thousands, and what may still be multiplied.
    total, current, half = 0.0, 0.0, 0.5
    for at, token in enumerate(tokens):
        match token.name:
            case "LARGE" | "A_LARGE":
                size = _magnitude(token)
                # "a thousand million"
                total, current = (total, current) if current else (0.0, total)
                current, half = (current or 1.0) * size, max(half, size / 2)
                if size > 100:
                    total, current = total + current, 0.0
            case "POINT":
                decimals = "".join(f"{_count(one):.0f}" for one in tokens[at + 1 :])
                value = float(f"{total + current:.0f}.{decimals}")
                return Value(value, 0.5 * 10.0 ** -len(decimals), EXACT, start, end, spelled=True)
            case "SHARE":
                return exact((total + current) * part_of(token.text), start, end, spelled=True)
            case "AND_PART" | "A_PART":
                return exact(total + current + part_of(token.text), start, end, spelled=True)
            case "ONE" | "TENS" | "MORE_ONE":
                current, half = current + _count(token), 0.5
    return Value(total + current, half, EXACT, start, end, spelled=True)


def _spoken_price(parts: Sequence[Token]) -> Value:
    whole, cents = parts
    value = _count(whole) + _count(cents) / 100
    return Value(value, 0.005, EXACT, whole.start, cents.end, spelled=True, open=True)


def _signed(parts: Sequence[Any]) -> Value:
    sign, number = parts
    negative: Value = number._replace(value=-number.value, start=sign.start)
    return negative


MEANINGS: Mapping[str, Meaning] = {
    **{"decimal": _decimal, "exponent": lambda parts: parts[-1], "fraction": _fraction, "mixed": _mixed},
    **{"irrational": _irrational, "exact": _exact, "spelled": _spelled, "spoken_price": _spoken_price},
    **{"number": _number, "plain": _operand, "signed": _signed},
}
