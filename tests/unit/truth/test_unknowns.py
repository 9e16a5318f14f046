"""Promises of the reader of equations: a value that contradicts one is found, and no right one is called wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.truth.unknowns import solved_equations
from tests.cases import each_case


@each_case
def test_a_value_that_contradicts_an_equation_is_found(text: str, equation: str, value: str) -> None:
    said, told = next((one, other) for one, other, holds in solved_equations(text) if not holds)
    assert (said.text, told.text) == (equation, value)


@each_case
def test_a_value_that_may_be_right_contradicts_nothing(text: str) -> None:
    assert all(holds for _, _, holds in solved_equations(text))


@given(st.text("0123456789 +-*/^=().,x²√%$\\{}\nab", max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
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
def test_hostile_texts_are_read_in_a_moment(text: str) -> None:
    assert sum(not holds for _, _, holds in solved_equations(text)) <= 1
