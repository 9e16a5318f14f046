"""Formats numbers so that a text and the value beside it agree."""

import math
import re
from decimal import ROUND_HALF_UP, Decimal

from soliloquy.truth.exactness import is_exact
from soliloquy.truth.units import unit as parsed_unit
from soliloquy.v1.conversation_pb2 import Quantity

SIGNIFICANT_DIGITS = 5
_SIGNIFICANT = f".{SIGNIFICANT_DIGITS}g"
# Larger numbers are easier to read with an exponent.
LONGEST_PLAIN = 1e7
_MONEY = parsed_unit("$")
_CURRENCIES = ("$", "€", "£")
_ONE_DECIMAL = re.compile(r"\.\d$")
_EXPONENT = re.compile(r"e(-?\d+)$")
# Beyond this, or below its inverse, slips and roundings would overflow.
LARGEST = 1e100


def is_workable(value: float) -> bool:
    """Whether a number can be calculated with without overflowing; true for zero."""
    return value == 0 or 1 / LARGEST < abs(value) < LARGEST


def tidy(value: float) -> float:
    """Rounds a value as a textbook does before the next step."""
    return float(format(value, _SIGNIFICANT))


def format_number(value: float) -> str:
    """Writes a number that `float` reads back, without binary rounding noise."""
    plain = f"{value:.10g}"
    if "e" not in plain and abs(value) < LONGEST_PLAIN:
        return plain
    mantissa, exponent = f"{value:.9e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def written_number(value: float) -> str:
    """Writes a number with the same digits as a person does: "1.602 × 10^-19"."""
    return _EXPONENT.sub(r" × 10^\1", format_number(value))


def written_value(value: float, unit: str) -> str:
    """Writes a quantity as people say it: four digits of what is measured, all of what is counted or paid."""
    return with_unit(written_number(value) if is_exact(value, unit) else format_rounded(value, 4), unit)


def with_unit(number: str, unit: str) -> str:
    """Puts a unit to a number as in print: "3.5 kg", "36°", and two decimals of money or none: "$8.20"."""
    if unit == "°":
        return f"{number}°"
    if _ONE_DECIMAL.search(number) and parsed_unit(unit) == _MONEY:
        number = f"{number}0"
    if unit in _CURRENCIES:
        return f"-{unit}{number[1:]}" if number.startswith("-") else f"{unit}{number}"
    return f"{number} {unit}" if unit else number


def format_rounded(value: float, digits: int) -> str:
    """Rounds to significant digits, in handwritten notation."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    # Halves go up as on paper: in binary, 310.15 lies below the half.
    exact = Decimal(repr(value))
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_HALF_UP)
    exponent = rounded.adjusted()
    if -4 <= exponent < 6:
        return _without_zeros(f"{rounded:f}")
    return f"{_without_zeros(f'{rounded.scaleb(-exponent):f}')} × 10^{exponent}"


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_exact(value: float) -> str:
    """Writes all digits, as Python does."""
    return repr(value).removesuffix(".0")


def format_quantity(quantity: Quantity, digits: int = 4) -> str:
    return with_unit(format_rounded(quantity.value, digits), quantity.unit)


def format_value(value: float, unit: str) -> str:
    return with_unit(format_number(value), unit)
