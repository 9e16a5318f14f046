"""Checks which number a reply gives as its answer, in the forms that people write."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.truth.number_format import format_rounded, with_unit
from soliloquy.truth.stated_answer import answer_in, answer_quantity
from soliloquy.truth.units import unit as known_unit
from tests.cases import each_case


@each_case
def test_the_answer_of_a_sentence_is_found(text: str, value: float | None) -> None:
    assert answer_in(text, "") == value


@each_case
def test_the_markup_around_an_answer_is_no_part_of_it(text: str) -> None:
    assert answer_in(text, "") == 36


def test_a_number_in_the_unit_asked_for_is_preferred() -> None:
    assert answer_in("It is 12 apples for 5 children", "apples") == 12
    assert answer_in("So v is 5 m/s and t is 3 s", "m/s") == 5
    assert answer_in("So x is 5 m and v is 3 m/s", "m") == 5


@each_case
def test_a_number_of_the_question_is_the_answer_only_if_nothing_else_is(text: str, value: float) -> None:
    assert answer_in(text, "", given=frozenset((4, 15, 21, 360))) == value


@each_case
def test_a_tentative_answer_is_one(text: str) -> None:
    assert answer_in(text, "") == 36


@each_case
def test_a_question_about_numbers_states_none(text: str) -> None:
    assert answer_in(text, "") is None


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [("It takes 150 s", 150, "s"), ("seven", 7, ""), ("6 km, I hope", 6, "km")],
)
def test_an_answer_is_read_with_its_unit(text: str, value: float, unit: str) -> None:
    read = answer_quantity(text, "")
    assert read is not None
    assert read.value == value
    assert read.unit == (known_unit(unit) if unit else None)


@given(st.floats(1e-30, 1e30) | st.floats(-1e30, -1e-30), st.sampled_from((3, 4)))
def test_a_rounded_number_reads_back_within_half_a_percent(value: float, digits: int) -> None:
    read = answer_in(f"So it is {with_unit(format_rounded(value, digits), 'kg*m^2')}.", "kg*m^2")
    assert read is not None
    assert abs(read - value) <= 0.00501 * abs(value)
    assert len(re.sub(r"[^\d]", "", format_rounded(value, digits).partition(" ×")[0]).lstrip("0")) <= 7


@each_case
def test_numbers_of_other_countries_and_in_other_forms_are_read(text: str, value: float) -> None:
    assert answer_in(text, "") == pytest.approx(value)


@each_case
def test_bounds_choices_quotations_and_open_calculations_are_no_answer(text: str) -> None:
    assert answer_in(text, "") is None
