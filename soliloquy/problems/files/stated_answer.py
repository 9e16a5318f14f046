"""Reads an answer that is written as text: a number, a number with its unit, or a number of things."""

from contextlib import suppress

from soliloquy.texts.plurals import is_plural
from soliloquy.truth.measured_values import combined, measured_number
from soliloquy.truth.units import unit
from soliloquy.truth.written_arithmetic import Written, tokens_of

_SIGNS = ("", "%", "$", "€", "£")


def stated_answer(text: str) -> tuple[float, str] | None:
    """Returns the number and the unit of "72", "€5", "1 1/2 m", "2 h 30 min" or "22 apples"; None for any other text.

    "nan" and "inf" are read as such: tables have them where a number is missing.
    """
    with suppress(ValueError):
        return float(text), ""
    sign, tokens = _signed(tokens_of(text.strip().rstrip(".")))
    things = ""
    if len(tokens) > 1 and tokens[-1].kind == "word":
        *tokens, last = tokens
        things = last.text
    match tokens:
        case [Written(kind="number") as number]:
            value = number.value * number.scale
        case [
            Written(kind="number", unit=None) as top,
            Written(kind="operator", text="/"),
            Written(kind="number") as number,
        ] if number.value:
            value = top.value / number.value
        case [Written(kind="number") as larger, Written(kind="number") as number] if both := combined(
            measured_number(larger), number
        ):
            value = both.number
        case _:
            return None
    own = _unit(number, things)
    return None if own is None else (sign * value, own)


def stated_number(text: str) -> tuple[float, str] | None:
    """Returns the number of a text that has no unit in words, and its sign: "72", "1,200", "$5", "40%" or "1/2"."""
    stated = stated_answer(text)
    return stated if stated and stated[1] in _SIGNS else None


def _signed(tokens: list[Written]) -> tuple[float, list[Written]]:
    first = tokens[0].text if tokens and tokens[0].kind == "operator" else ""
    return (-1.0 if first == "-" else 1.0), tokens[1:] if first in ("-", "+") else tokens


def _unit(number: Written, things: str) -> str | None:
    """Returns the unit of a number, or what it counts; None if the words behind it are neither."""
    if things:
        is_counted = is_plural(things) or unit(things).measure
        return things if is_counted and number.unit is None else None
    # The minutes of a clock are written without a unit.
    return number.unit_text if bool(unit(number.unit_text).measure) == bool(number.unit) else None
