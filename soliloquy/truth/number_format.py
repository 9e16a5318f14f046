"""Formats numbers so that a text and the value beside it agree."""

import math
import re

from soliloquy.v1.conversation_pb2 import Quantity

SIGNIFICANT_DIGITS = 5
_SIGNIFICANT = f".{SIGNIFICANT_DIGITS}g"
# Larger numbers are easier to read with an exponent.
LONGEST_PLAIN = 1e7
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
    return with_unit(written_number(value), unit)


def with_unit(number: str, unit: str) -> str:
    return f"{number} {unit}" if unit else number


def format_rounded(value: float, digits: int) -> str:
    """Rounds to significant digits, in handwritten notation."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if -4 <= exponent < 6:
        places = digits - 1 - exponent
        text = f"{round(value, places):.{max(0, places)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa = f"{value / 10.0**exponent:.{digits - 1}f}".rstrip("0").rstrip(".")
    return f"{mantissa} × 10^{exponent}"


def format_exact(value: float) -> str:
    """Writes all digits, as Python does."""
    return repr(value).removesuffix(".0")


def format_quantity(quantity: Quantity, digits: int = 4) -> str:
    return with_unit(format_rounded(quantity.value, digits), quantity.unit)


def format_value(value: float, unit: str) -> str:
    return with_unit(format_number(value), unit)
