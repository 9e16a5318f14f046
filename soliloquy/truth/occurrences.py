"""Finds where a text states a known quantity: as digits, words, a fraction or a percentage, in any unit of its kind.

A search for a known value is safer than reading an unknown one: nothing has to be told from the numbers beside it.
"""

from soliloquy.truth.exactness import NOISE
from soliloquy.truth.markup import without_markup
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.quantities import WrittenQuantity, is_same, quantities_in, written_quantity
from soliloquy.truth.units import unit as unit_of

_PERCENT = unit_of("%")


def find_quantity(text: str, value: float, unit: str, tolerance: float) -> list[WrittenQuantity]:
    """Returns the places of a text that state this quantity, in order.

    A number without a unit counts as one in the quantity's own unit; one in another unit counts if it converts. Counts
    and money must be exact, and measured quantities within the tolerance or right in all digits that are written.
    """
    return [written for written in _candidates(text) if _is_quantity(written, value, unit, tolerance)]


def _candidates(text: str) -> list[WrittenQuantity]:
    """Returns the quantities of a text and the numbers in words that may be pronouns elsewhere, except "one"."""
    found = quantities_in(text)
    plain = without_markup(text)
    spelled = (number for number in numbers_in(plain) if number.spelled and number.value != 1)
    apart = [number for number in spelled if not any(one.start <= number.start < one.end for one in found)]
    return sorted([*found, *(written_quantity(plain, number) for number in apart)], key=lambda one: one.start)


def _is_quantity(written: WrittenQuantity, value: float, unit: str, tolerance: float) -> bool:
    if is_same(written, value, unit, tolerance):
        return True
    # "0.75" is 75 %.
    is_share = written.unit is None and unit_of(unit) == _PERCENT
    return is_share and abs(written.value * 100 - value) <= max(tolerance, NOISE) * abs(value)
