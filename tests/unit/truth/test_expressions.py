"""Promises of the evaluator: what it calculates, how it writes it, and all that it refuses."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.truth.expressions import MAX_LENGTH, BadExpression, Unworkable, parse_expression
from soliloquy.truth.number_format import format_number, tidy
from tests.cases import each_case

SYMBOLS = {"a": 3.0, "b": 4.0, "theta": 30.0}


@each_case
def test_arithmetic_is_calculated_and_written_as_in_a_textbook(text: str, value: float, formula: str) -> None:
    expression = parse_expression(text)
    assert expression.value(SYMBOLS) == pytest.approx(value)
    assert expression.formula == formula


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "__import__('os')",
        "open(a)",
        "().__class__",
        "a.real",
        "math.factorial(9)",
        "math.pow(2, 3)",
        "math.sqrt(x=2)",
        "math.sqrt",
        "math",
        "sqrt(2)",
        "[a]",
        "a if b else 1",
        "a == b",
        "a and b",
        "lambda: 1",
        "(a := 2)",
        "True",
        "None",
        "1j",
        "'a'",
        "a // b",
        "a % b",
        "~a",
        "1e999",
        "9" * 299 + "0" * 20,
        "*a",
        "a; b",
        "a\nb",
        "# a",
        "\x00",
        "f(a)",
        "(yield)",
        "await a",
        "-" * MAX_LENGTH + "1",
        "(" * 250 + "1" + ")" * 250,
        "a" * (MAX_LENGTH + 1),
    ],
)
def test_whatever_is_not_plain_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        parse_expression(text)


@pytest.mark.parametrize(
    "text", ["a / 0", "(-8) ** 0.5", "math.sqrt(-1)", "9.0 ** 9 ** 9", "1e308 * 10", "c", "math.log(0)"]
)
def test_an_expression_without_a_finite_value_is_reported(text: str) -> None:
    with pytest.raises(Unworkable):
        parse_expression(text).value(SYMBOLS)


@given(st.text(max_size=40) | st.text(alphabet="ab0123456789.+-*/()e mth_sqrpi", max_size=40))
def test_any_text_is_refused_or_gives_a_finite_number(text: str) -> None:
    try:
        value = parse_expression(text).value(SYMBOLS)
    except (BadExpression, Unworkable):
        return
    assert math.isfinite(value)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=1e-30, max_value=1e30))
def test_a_written_number_reads_back_and_shows_no_noise(value: float) -> None:
    text = format_number(tidy(value))
    assert float(text) == tidy(value)
    assert len(text) <= 12


def test_binary_noise_is_not_written() -> None:
    assert format_number(0.1 + 0.2) == "0.3"
    assert format_number(8.99e9) == "8.99e9"
    assert format_number(6.626e-34) == "6.626e-34"
    assert format_number(-0.00005) == "-5e-5"
