"""Numbers as people write them in a sentence."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from soliloquy.v1.conversation_pb2 import Quantity

# Not the digits of a name (v2), of a unit (m/s^2, s-1) or of a longer number.
_NUMBER = re.compile(
    r"(?<![\w^.])(?<![\w^][-−])"
    r"(?P<mantissa>[-−]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|[-−]?\.\d+)"
    r"(?:[eE](?P<e>[-+]?\d+)|\s*[×x*·]\s*10\s*(?:\^|\*\*)\s*\(?(?P<ten>[-−+]?\d+)\)?)?"
)
_STATES = re.compile(r"(?:[=≈]|\b(?:is|be|get|got|gives|makes|about|around|roughly|answer|comes to))\W{0,3}$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    value: float
    # Whether the text gives it as a result: "= 6", "I got 6".
    stated: bool
    after: str


def numbers_in(text: str) -> Iterator[Number]:
    for found in _NUMBER.finditer(text):
        mantissa = found["mantissa"].replace("−", "-").replace(",", "")
        exponent = (found["e"] or found["ten"] or "0").replace("−", "-")
        before = text[max(0, found.start() - 12) : found.start()]
        yield Number(
            value=float(f"{mantissa}e{exponent}"),
            stated=_STATES.search(before) is not None,
            after=text[found.end() : found.end() + 16].lstrip(),
        )


def answer_in(text: str, unit: str) -> float | None:
    """The number that a reply gives as its answer: what it states last, if possible in the unit asked for."""
    numbers = list(numbers_in(text))
    stated = [number for number in numbers if number.stated] or numbers
    in_unit = [number for number in stated if unit and _starts_with_unit(number.after, unit)]
    chosen = in_unit or stated
    return chosen[-1].value if chosen else None


def _starts_with_unit(text: str, unit: str) -> bool:
    following = text[len(unit) : len(unit) + 1]
    return text.startswith(unit) and not (following.isalnum() or following in tuple("/^·*"))


def rounded(value: float, digits: int) -> str:
    """A number with so many significant digits, as written by hand."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if -4 <= exponent < 6:
        places = digits - 1 - exponent
        text = f"{round(value, places):.{max(0, places)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa = f"{value / 10.0**exponent:.{digits - 1}f}".rstrip("0").rstrip(".")
    return f"{mantissa} × 10^{exponent}"


def exact(value: float) -> str:
    """A number with all its digits, as Python reads it."""
    return repr(value).removesuffix(".0")


def with_unit(number: str, unit: str) -> str:
    return f"{number} {unit}" if unit else number


def told(quantity: Quantity, digits: int = 4) -> str:
    return with_unit(rounded(quantity.value, digits), quantity.unit)
