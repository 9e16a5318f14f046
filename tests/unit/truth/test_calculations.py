"""Promises of the reader of written calculations: what is right stays right, what is false is found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.truth.calculations import calculations_of
from soliloquy.truth.unknowns import solved_equations
from tests.cases import each_case


@each_case
def test_what_is_right_is_found_right(text: str) -> None:
    found = calculations_of(text)
    assert found
    assert all(link.right for link in found), found


@each_case
def test_what_is_false_is_found_with_both_numbers(text: str, value: float, stated: float) -> None:
    false = [link for link in calculations_of(text) if not link.right]
    [link] = false
    assert link.value == pytest.approx(value)
    assert link.stated == stated


@each_case
def test_what_cannot_be_worked_through_is_not_judged(text: str) -> None:
    assert not calculations_of(text)


def test_a_calculation_gives_its_expression_and_its_place() -> None:
    text = "It costs 3 x $4.50 = $13.50 in all."
    [link] = calculations_of(text)
    assert (link.expression, text[link.start : link.end], link.stated) == ("3 * 4.5", "3 x $4.50 = $13.50", 13.5)


@pytest.mark.parametrize("stated", ["15 x 10^5 J", "15 × 10⁵ J", "1.5e6 J", "1,500,000 J"])
def test_the_unit_stands_behind_the_whole_number(stated: str) -> None:
    [link] = calculations_of(f"E = 10000 * 150 = {stated}.")
    assert (link.stated, link.unit) == (1.5e6, "J")


@given(st.text("0123456789 +-*/^=().,xm²√%$\\{}\nab", max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    for link in calculations_of(text):
        assert text[link.start : link.end] == link.text


@pytest.mark.parametrize(
    "text",
    ["5 + 10^" + "9" * 5000 + " = 3", "1e" + "9" * 5000 + " + 1 = 3", "10^400 + 1 = 2", "10⁻⁻5 = 1", "\\frac²3 = 1"],
)
def test_a_number_that_no_float_holds_makes_nothing_false(text: str) -> None:
    assert not calculations_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 20_000,
        "1+" * 10_000 + "1 = 2",
        "\\frac" * 4_000,
        "-" * 20_000 + "1 = 1",
        "a 1 " * 5_000 + "= 1",
        "9" * 50_000 + " = 1",
        "9" * 50_000 + "th = 1",
        "1" + ",000" * 12_000 + " = 1",
        "word " * 20_000 + "= 1",
        "1 + " + "a " * 25_000 + "2 = 3",
        "add " * 12_000 + "= 1",
    ],
)
@pytest.mark.timeout(60)
def test_hostile_texts_are_read_in_a_moment(text: str) -> None:
    assert len(calculations_of(text)) <= 1


@each_case
def test_a_value_that_contradicts_an_equation_is_found(text: str, equation: str, value: str) -> None:
    said, told = next((one, other) for one, other, holds in solved_equations(text) if not holds)
    assert (said.text, told.text) == (equation, value)


@each_case
def test_a_value_that_may_be_right_contradicts_nothing(text: str) -> None:
    assert all(holds for _, _, holds in solved_equations(text))


@given(st.text("0123456789 +-*/^=().,x²√%$\\{}\nab", max_size=200))
def test_no_text_breaks_the_reader_of_equations(text: str) -> None:
    list(solved_equations(text))


@pytest.mark.parametrize(
    "text",
    [
        "x = 1 " * 20_000,
        "x = 1, 2x = 2, " * 1_000,
        "(" * 20_000 + "x = 1",
        "1 + x = 1e308 * 1e308, x = 1e400",
        "x + 1e308 + 1e308 = 1, x = 2",
        "2x = 6, x = 1e308 + 1e308",
    ],
)
@pytest.mark.timeout(60)
def test_hostile_equations_are_read_in_a_moment(text: str) -> None:
    assert sum(not holds for _, _, holds in solved_equations(text)) <= 1
