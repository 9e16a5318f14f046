"""Numbers are written as people write them."""

from soliloquy.truth.number_format import format_rounded, format_value, written_value
from tests.cases import each_case


@each_case
def test_a_half_is_rounded_up_as_on_paper(value: float, digits: int, written: str) -> None:
    assert format_rounded(value, digits) == written


@each_case
def test_a_number_and_its_unit_stand_together_as_in_print(value: float, unit: str, written: str) -> None:
    assert format_value(value, unit) == written


def test_four_digits_are_said_of_what_is_measured_and_all_of_what_is_counted() -> None:
    assert written_value(6.4189, "m/s") == "6.419 m/s"
    assert written_value(39845, "beats") == "39845 beats"
