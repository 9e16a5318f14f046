"""Finds where a text states a known quantity: as digits, words, a fraction or a percentage, in any unit of its kind.

A search for a known value is safer than reading an unknown one: nothing has to be told from the numbers beside it.
"""

from soliloquy.truth.exactness import NOISE
from soliloquy.truth.markup import without_markup
from soliloquy.truth.numbers import parsed_in
from soliloquy.truth.quantities import WrittenQuantity, is_same, quantities_in, written
from soliloquy.truth.units import unit as unit_of

_PERCENT, _MONEY = unit_of("%"), unit_of("$")


def find_quantity(text: str, value: float, unit: str, tolerance: float) -> list[WrittenQuantity]:
    """Returns the places of a text that state this quantity, in order.

    A number without a unit counts as one in the quantity's own unit; one in another unit counts if it converts. Counts
    and money must be exact, and measured quantities within the tolerance or right in all digits that are written.
    """
    return [one for one in _candidates(text, unit) if _is_quantity(one, value, unit, tolerance)]


def _candidates(text: str, unit: str) -> list[WrittenQuantity]:
    """Returns the quantities of a text and the numbers in words that may be pronouns elsewhere, except "one".

    "Five fifty" is a price where money is asked for.
    """
    found = quantities_in(text)
    plain = without_markup(text)
    is_money = unit_of(unit).kind == _MONEY.kind
    spelled = [one for one in parsed_in(plain) if one.number.spelled and one.number.value != 1]
    spelled = [one for one in spelled if is_money or not one.number.open]
    apart = [one for one in spelled if not any(each.start <= one.number.start < each.end for each in found)]
    return sorted([*found, *(written(plain, one) for one in apart)], key=lambda one: one.start)


def _is_quantity(stated: WrittenQuantity, value: float, unit: str, tolerance: float) -> bool:
    if is_same(stated, value, unit, tolerance):
        return True
    # "0.75" is 75 %.
    is_share = stated.unit is None and unit_of(unit) == _PERCENT
    return is_share and abs(stated.value * 100 - value) <= max(tolerance, NOISE) * abs(value)
