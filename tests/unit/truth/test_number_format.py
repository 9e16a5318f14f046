"""Numbers are written as people write them."""

import pytest

from soliloquy.truth.number_format import format_rounded, format_value, written_value


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [
        (310.15, 4, "310.2"),
        (-738.15, 4, "-738.2"),
        (9.9995, 4, "10"),
        (123456, 4, "123500"),
        (0.000123456, 3, "0.000123"),
        (0.0000371, 2, "3.7 × 10^-5"),
        (999999.6, 6, "1 × 10^6"),
        (100.0, 3, "100"),
    ],
)
def test_a_half_is_rounded_up_as_on_paper(value: float, digits: int, written: str) -> None:
    assert format_rounded(value, digits) == written


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        (8.2, "dollars", "8.20 dollars"),
        (8.2, "$", "$8.20"),
        (-5, "€", "-€5"),
        (8.25, "dollars", "8.25 dollars"),
        (8, "dollars", "8 dollars"),
        (8.5, "ct", "8.5 ct"),
        (36, "°", "36°"),
        (36.5, "°C", "36.5 °C"),
        (3.7, "kg", "3.7 kg"),
        (3.7, "", "3.7"),
    ],
)
def test_a_number_and_its_unit_stand_together_as_in_print(value: float, unit: str, written: str) -> None:
    assert format_value(value, unit) == written


def test_four_digits_are_said_of_what_is_measured_and_all_of_what_is_counted() -> None:
    assert written_value(6.4189, "m/s") == "6.419 m/s"
    assert written_value(39845, "beats") == "39845 beats"
