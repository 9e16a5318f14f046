"""The meanings of the units of `quantity.lark`: products and quotients of known units with powers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from soliloquy.truth.lalr import Meaning, Token
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.unit_table import NO_UNIT, Unit, symbol, word

# Money and shares are asked for with and without "per month".
_SHARES = ("money^1", "dimensionless")
_POWERS = {"squared": 2, "cubed": 3, "square": 2, "cubic": 3}
_DIGITS = str.maketrans("⁰¹²³⁴⁻−", "01234--")
_WHOLE = lazy_pattern(r"-?\d")
_GLUE = lazy_pattern(r"[\s~,\\/1-]+")


class Measure(NamedTuple):
    unit: Unit
    end: int


class Divisor(NamedTuple):
    """The unit that a text divides by, and whether it says so of each: "3 km a day"."""

    unit: Unit
    each: bool
    end: int


def rate_of(above: Unit, divisor: Divisor) -> Unit:
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
        first, *rest = text.split(None, 1)
        if name == "EACH_WORD":
            text = rest[0]
            first, *rest = text.split(None, 1)
        power *= _POWERS.get(first.lower(), 1)
        own = word(rest[0] if first.lower() in _POWERS else text, divides=name == "EACH_WORD")
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


def _next(parts: Sequence[Any]) -> Measure:
    factor = _factor(parts[1:])
    return Measure(parts[0].unit.times(factor.unit), factor.end)


def _product(parts: Sequence[Any]) -> Measure:
    first, other = (part for part in parts if isinstance(part, Measure))
    return Measure(first.unit.times(other.unit), parts[-1].end)


def _rate(parts: Sequence[Any]) -> Divisor:
    if parts[0].name == "EACH_WORD":
        return Divisor(_factor(parts).unit, each=True, end=parts[-1].end)
    below = next(part for part in parts if isinstance(part, Measure)).unit
    return Divisor(below.otherwise or below, each=False, end=parts[-1].end)


def _quotient(parts: Sequence[Any]) -> Measure:
    above, *divisor = parts
    return Measure(rate_of(above.unit, _rate(divisor)), parts[-1].end)


MEANINGS: Mapping[str, Meaning] = {
    **{"factor": _factor, "inverse": _inverse, "next": _next, "product": _product},
    **{"quotient": _quotient, "each": _quotient, "rate": _rate},
}
