"""A number is read whichever way a person writes it, and what is none is left alone."""

import pytest

from soliloquy.truth.number_format import format_rounded, format_value, written_value
from soliloquy.truth.numbers import numbers_in, numbers_in_digits
from soliloquy.truth.quantities import is_same, quantities_in
from tests.cases import each_case


@each_case
def test_numbers_are_read_as_a_person_reads_them(text: str, values: list[float]) -> None:
    assert [number.value for number in numbers_in(text)] == pytest.approx(values)


@pytest.mark.parametrize("text", ["v2 and x_1", "m/s^2", "s⁻¹", "t² + r³", "no digits at all", "1e999", "10^400", ""])
def test_names_and_exponents_are_no_numbers(text: str) -> None:
    assert list(numbers_in(text)) == []


@pytest.mark.parametrize(
    ("text", "digits", "half"),
    [("33.60", 4, 0.005), ("0.0045", 2, 0.00005), ("1200", 2, 50), ("2.0e3", 2, 50), ("7", 1, 0.5)],
)
def test_what_rounding_hides_is_half_a_unit_of_the_last_digit(text: str, digits: int, half: float) -> None:
    [number] = numbers_in(text)
    assert number.digits == digits
    assert number.half == pytest.approx(half)


def test_words_are_left_alone_where_digits_are_asked_for() -> None:
    assert [number.value for number in numbers_in_digits("One thing: it takes 3 s, not 4.5 s.")] == [3, 4.5]


@pytest.mark.parametrize(
    "text",
    ["10^" + "9" * 5000, "1e" + "9" * 5000, "5 x 10⁻⁻", "10⁵⁻ J", "1,000" + ",000" * 400, f"9{'0' * 307} million"],
)
def test_a_number_that_no_float_holds_is_no_number(text: str) -> None:
    assert all(abs(number.value) < 1e300 for number in numbers_in(text))


@each_case
def test_a_half_is_rounded_up_as_on_paper(value: float, digits: int, written: str) -> None:
    assert format_rounded(value, digits) == written


@each_case
def test_a_number_and_its_unit_stand_together_as_in_print(value: float, unit: str, written: str) -> None:
    assert format_value(value, unit) == written


def test_four_digits_are_said_of_what_is_measured_and_all_of_what_is_counted() -> None:
    assert written_value(6.4189, "m/s") == "6.419 m/s"
    assert written_value(39845, "beats") == "39845 beats"


@each_case
def test_a_number_is_as_exact_as_its_kind(said: str, value: float, unit: str, right: bool) -> None:
    [quantity] = quantities_in(said)
    assert is_same(quantity, value, unit, 0.01) is right
