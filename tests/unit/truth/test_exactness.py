"""Counts, money and exact arithmetic are right exactly; measured quantities to their digits or the tolerance."""

import pytest

from soliloquy.truth.quantities import is_same, quantities_in


@pytest.mark.parametrize(
    ("said", "value", "unit", "right"),
    [
        ("9,910", 10_010, "", False),
        ("10,010 people", 10_010, "", True),
        ("$550", 552, "$", False),
        ("$552.00", 552, "$", True),
        ("55200 cents", 552, "$", True),
        ("99 apples", 100, "apples", False),
        ("100 apples", 100, "apples", True),
        ("33.33 dollars", 100 / 3, "$", True),
        ("33 dollars", 100 / 3, "$", False),
        ("7.3", 22 / 3, "", True),
        ("7", 22 / 3, "", False),
        ("0.24", 0.25, "", False),
        ("9.8 m/s", 9.81, "m/s", True),
        ("9.9 m/s", 9.81, "m/s", True),
        ("9.5 m/s", 9.81, "m/s", False),
        ("3.09 × 10^16", 3.0947e16, "", True),
    ],
)
def test_a_number_is_as_exact_as_its_kind(said: str, value: float, unit: str, right: bool) -> None:
    [quantity] = quantities_in(said)
    assert is_same(quantity, value, unit, 0.01) is right
