"""Promises of the reader of equations: a value that contradicts one is found, and no right one is called wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.truth.unknowns import solved_equations

FALSE = [
    ("2x + 6 = 20, so 2x = 26 and x = 13", "2x + 6 = 20", "x = 13"),
    ("Solve 5x + 15 = 60. Divide by 5: x = 15.", "5x + 15 = 60", "x = 15"),
    ("3(x - 2) = x + 8\n2x = 2\nx = 1", "3(x - 2) = x + 8", "x = 1"),
    (r"$\frac{x}{6} = 7$. Multiply by $6$: $x = 48$.", r"\frac{x}{6} = 7", "x = 48"),
    ("3n = 10, so n = 3.43", "3n = 10", "n = 3.43"),
    ("v^2 = 2 * 9.8 * 20 = 392, v = 18.9 m/s", "v^2 = 2 * 9.8 * 20 = 392", "v = 18.9 m/s"),
    ("1/b = 1/15 - 1/60 = 1/20, so b = 25 cm", "1/b = 1/15 - 1/60 = 1/20", "b = 25 cm"),
]
RIGHT = [
    "Solve the equation 3x + 2 = 8: 3x = 6, x = 2",
    "3x = 10, x = 3.33",
    "3x = 10, x = 3.3",
    "v^2 = 235.2; v = 15.34 m/s",
    "v^2 = 25, v = -5",
    "(x - 2)(x - 5) = 0, so x - 2 = 0 or x - 5 = 0: x = 2 or x = 5",
    "n = 3: 2n + 1 = 7\nn = 4: 2n + 1 = 9",
    "(x - 4)(x + 3) = 0, so x - 4 = 0 or x + 3 = 0. A length is positive: x = 4",
    "2x + 1 = 7, 2y - 1 = 5, x = 3, y = 3",
    "0.5 v^2 = 50 m²/s², v = 10 m/s",
    "2a = 10 cm, a = 0.05 m",
    "2m_1 = 10, m_2 = 3, m = 4",
    "40 x 3 = 120\nx 2 = 240",
    "W = 1.96 * 126\nW = (7 - 1.96) * 126 = 635",
    "With f(x) = x^3, f'(x) = 3x^2, and at x = 2 it is 12",
]


@pytest.mark.parametrize(("text", "equation", "value"), FALSE)
def test_a_value_that_contradicts_an_equation_is_found(text: str, equation: str, value: str) -> None:
    said, told = next((one, other) for one, other, holds in solved_equations(text) if not holds)
    assert (said.text, told.text) == (equation, value)


@pytest.mark.parametrize("text", RIGHT)
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
