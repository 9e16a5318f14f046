"""Parses one written quantity by the grammar of `quantity.lark`: its number, and its unit."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from soliloquy.truth import number_meanings
from soliloquy.truth.lalr import Meaning, Parser, Token
from soliloquy.truth.number_meanings import EXACT, FRACTIONS, MAGNITUDES, ONES, PARTS, QUARTERED, TENS, Value, part_of
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.unit_table import NO_UNIT, SYMBOL, WORD, Unit, any_of, named, symbol, word

_LISTS = {
    **{"ONES": any_of(ONES), "TENS": any_of(TENS), "LARGE": any_of(MAGNITUDES), "PARTS": any_of(PARTS)},
    **{"QUARTERED": any_of(QUARTERED), "VULGAR": "".join(FRACTIONS), "SYMBOL": SYMBOL, "WORD": WORD},
}
# Money and shares are asked for with and without "per month".
_SHARES = ("money^1", "dimensionless")
_POWERS = {"squared": 2, "cubed": 3, "square": 2, "cubic": 3}
_DIGITS = str.maketrans("⁰¹²³⁴⁻−", "01234--")
_WHOLE = lazy_pattern(r"-?\d")
_GLUE = lazy_pattern(r"[\s~,\\/1-]+")


class Quantity(NamedTuple):
    number: Value
    unit: Unit | None
    end: int


class Measure(NamedTuple):
    unit: Unit
    end: int


class Divisor(NamedTuple):
    """The unit that a text divides by, and whether it says so of each: "3 km a day"."""

    unit: Unit
    each: bool
    end: int


def parse(start: Literal["quantity", "operand", "unit"], text: str, at: int) -> Any:
    """Returns the longest quantity, operand or unit that begins at a place; None if none does."""
    return _parser().longest(start, text, at)


@lru_cache(1)
def _parser() -> Parser:
    table = json.loads(Path(__file__).with_name("quantity.json").read_text("utf-8"))
    terminals: Mapping[str, str] = table["terminals"]
    large = {name for name, pattern in terminals.items() if "<SYMBOL>" in pattern or "<WORD>" in pattern}
    patterns = {name: _filled(pattern) for name, pattern in terminals.items()}
    return Parser(table, patterns, {**number_meanings.MEANINGS, **_MEANINGS}, large)


def _filled(pattern: str) -> str:
    for name, words in _LISTS.items():
        pattern = pattern.replace(f"<{name}>", words)
    return pattern


def _quantity(parts: Sequence[Any]) -> Quantity:
    number, unit, is_negative = parts[0], None, False
    for part in parts:
        match part:
            case Value():
                number = part
            case Measure():
                unit = part.unit
            case Token(name="CURRENCY"):
                unit = symbol("$")
            case Token(name="SIGN"):
                is_negative = True
            case _:
                # "below zero"
                number = number._replace(value=-abs(number.value))
    if is_negative:
        number = number._replace(value=-number.value, start=parts[0].start)
    return Quantity(number, unit, parts[-1].end)


def _quantity_and_part(parts: Sequence[Any]) -> Quantity:
    number, token = parts
    name = token.text.split()[0]
    found = parse("unit", name, 0)
    value = number._replace(value=number.value + part_of(token.text), half=0.0, digits=EXACT)
    return Quantity(value, found.unit if found and found.end == len(name) else None, token.end)


def _price_rate(parts: Sequence[Any]) -> Quantity:
    _, number, rate = parts
    return Quantity(number, _rate_of(named("dollar"), rate), rate.end)


def _time(parts: Sequence[Token]) -> Quantity:
    [token] = parts
    hours, minutes = map(int, re.findall(r"\d+", token.text))
    hours += 12 if hours < 12 and re.search("p", token.text, re.IGNORECASE) else 0
    number = Value(hours + minutes / 60, 0.5 / 60, EXACT, token.start, token.end)
    return Quantity(number, named("hour"), token.end)


def _rate_of(above: Unit, divisor: Divisor) -> Unit:
    """Returns a rate that states what it divides too, where that is money or a share, or said of each."""
    rate = above.times(divisor.unit, -1)
    return replace(rate, otherwise=above) if divisor.each or above.kind in _SHARES else rate


def _factor(parts: Sequence[Token]) -> Measure:
    name, text, *_ = parts[0]
    return Measure(_raised(name, text, parts[1].text if len(parts) > 1 else ""), parts[-1].end)


@lru_cache(4096)
def _raised(name: str, text: str, exponent: str) -> Unit:
    power = _power(exponent) if exponent else 1
    glue = _GLUE.match(text)
    text = text[glue.end() :] if glue else text
    if text == "ms" and power < 0:
        # "ms^-2" is a metre per second squared, whatever "ms" is elsewhere.
        return _known("m").times(_known("s"), power)
    if name.endswith("SYMBOL"):
        own = _known(text)
    else:
        text = text.split(None, 1)[1] if name == "EACH_WORD" else text
        first, *rest = text.split(None, 1)
        raised = _POWERS.get(first.lower())
        power *= raised or 1
        own = word(rest[0] if raised else text, divides=name == "EACH_WORD")
    return own if power == 1 else NO_UNIT.times(own, power)


def _known(text: str) -> Unit:
    known = symbol(text)
    assert known is not None, text
    return known


def _power(exponent: str) -> int:
    digits = _WHOLE.search(exponent.translate(_DIGITS))
    return int(digits[0]) if digits else _POWERS[exponent.strip().lower()]


def _inverse(parts: Sequence[Token]) -> Measure:
    below = _factor(parts[1:])
    return Measure(NO_UNIT.times(below.unit, -1), below.end)


def _product(parts: Sequence[Any]) -> Measure:
    first, other = (part for part in parts if isinstance(part, Measure))
    return Measure(first.unit.times(other.unit), parts[-1].end)


def _rate(parts: Sequence[Any]) -> Divisor:
    if parts[0].name == "EACH_WORD":
        return Divisor(_factor(parts).unit, each=True, end=parts[-1].end)
    below = next(part for part in parts if isinstance(part, Measure)).unit
    return Divisor(below.otherwise or below, each=False, end=parts[-1].end)


def _quotient(parts: Sequence[Any]) -> Measure:
    above, divisor = parts
    return Measure(_rate_of(above.unit, divisor), divisor.end)


_MEANINGS: Mapping[str, Meaning] = {
    **{"quantity": _quantity, "operand": _quantity, "price_rate": _price_rate},
    **{"quantity_and_part": _quantity_and_part, "time": _time},
    **{"factor": _factor, "inverse": _inverse, "product": _product, "quotient": _quotient, "rate": _rate},
}
