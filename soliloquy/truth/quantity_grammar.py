"""Parses one written quantity by the grammar of `quantity.lark`: its number, and its unit."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from soliloquy.truth import number_meanings, unit_meanings
from soliloquy.truth.lalr import Parser, Token
from soliloquy.truth.number_meanings import EXACT, FRACTIONS, MAGNITUDES, ONES, PARTS, QUARTERED, TENS, Value, part_of
from soliloquy.truth.unit_meanings import Measure, rate_of
from soliloquy.truth.unit_table import SYMBOL, WORD, Unit, any_of, named, symbol

_LISTS = {
    **{"ONES": any_of(ONES), "TENS": any_of(TENS), "LARGE": any_of(MAGNITUDES), "PARTS": any_of(PARTS)},
    **{"QUARTERED": any_of(QUARTERED), "VULGAR": "".join(FRACTIONS), "SYMBOL": SYMBOL, "WORD": WORD},
}


class Quantity(NamedTuple):
    number: Value
    unit: Unit | None
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
    meanings = {
        **{"quantity": _quantity, "operand": _quantity, "price_rate": _price_rate},
        **{"quantity_and_part": _quantity_and_part, "time": _time},
    }
    return Parser(table, patterns, {**number_meanings.MEANINGS, **unit_meanings.MEANINGS, **meanings}, large)


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
    return Quantity(number, rate_of(named("dollar"), rate), rate.end)


def _time(parts: Sequence[Token]) -> Quantity:
    [token] = parts
    hours, minutes = map(int, re.findall(r"\d+", token.text))
    hours += 12 if hours < 12 and re.search("p", token.text, re.IGNORECASE) else 0
    number = Value(hours + minutes / 60, 0.5 / 60, EXACT, token.start, token.end)
    return Quantity(number, named("hour"), token.end)
