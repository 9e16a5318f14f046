"""Decides how exactly a number must be stated: counts, money and exact arithmetic exactly, what is measured roughly."""

from soliloquy.truth.units import unit

_MONEY = unit("$").kind
# Floats that are equal up to rounding, relative to the number.
NOISE = 1e-9
# Larger numbers without a unit are seldom counted.
_LARGEST_COUNT = 1e9
# A half of the last digit of a number that is rounded to tenths.
_TENTHS = 0.05
# A half of the fourth digit, relative to the number.
_FOUR_DIGITS = 0.0005


def is_exact(value: float, stated_unit: str) -> bool:
    """Whether a quantity is counted, money, or a number of exact arithmetic, and not measured."""
    kind = unit(stated_unit).kind
    if kind.startswith("counted ") or kind == _MONEY:
        return True
    return not kind and abs(value) < _LARGEST_COUNT and _has_two_decimals(value)


def _has_two_decimals(value: float) -> bool:
    return abs(value * 100 - round(value * 100)) <= NOISE * abs(value * 100)


def is_right(stated: float, value: float, stated_unit: str, tolerance: float, *, half: float = 0.0) -> bool:
    """Whether a number is right for a quantity of this value: exactly, or within the tolerance if it is measured.

    `half` is half a unit of the last digit that was written. An exact quantity may be rounded to tenths or closer if it
    has more than two decimals, or if four digits stay.
    """
    difference = abs(stated - value)
    if difference <= NOISE * abs(value):
        return True
    if not is_exact(value, stated_unit):
        return difference <= tolerance * abs(value)
    may_be_rounded = not _has_two_decimals(value) or half <= _FOUR_DIGITS * abs(value)
    return may_be_rounded and half <= _TENTHS * (1 + NOISE) and difference <= half * (1 + NOISE)
