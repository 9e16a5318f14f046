"""Counts, money and exact arithmetic are right exactly; measured quantities to their digits or the tolerance."""

from soliloquy.truth.quantities import is_same, quantities_in
from tests.cases import each_case


@each_case
def test_a_number_is_as_exact_as_its_kind(said: str, value: float, unit: str, right: bool) -> None:
    [quantity] = quantities_in(said)
    assert is_same(quantity, value, unit, 0.01) is right
