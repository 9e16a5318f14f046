"""An answer in letters is right in every equivalent form, and a wrong one is wrong however it is wrapped in words."""

import pytest

from soliloquy.recipes.scaffold.expected_answers import gives_expected
from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.truth.algebra_answers import algebra, gives_algebra

FENCE, EQUATION, SQUARE = "P = 6x + 8", "3x + 5 = 26", "A = x² + 6x + 9"


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("it is 8 + 6*x", FENCE),
        ("P = 2(x+4) + 4x = 6x + 8", FENCE),
        ("So 2(3x+4).", FENCE),
        ("$6x+8$", FENCE),
        ("6 x plus 8, I'd say", FENCE),
        ("6x + 8 is what I get from 2(3x + 4)", FENCE),
        ("It is 6x + 8, not 6x + 4.", FENCE),
        ("26 = 5 + 3*x, I think", EQUATION),
        ("3x = 21 is left", EQUATION),
        ("(x+3)^2", SQUARE),
        ("x**2 + 9 + 6*x", SQUARE),
    ],
)
def test_every_equivalent_form_is_right(text: str, known: str) -> None:
    assert gives_algebra(text, known) is True


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("I think 6x + 4", FENCE),
        ("P = 14x", FENCE),
        ("P = 32", FENCE),
        ("I expanded 2(3x + 4) and got 6x + 4.", FENCE),
        ("3x - 5 = 26", EQUATION),
        ("x + 5 = 2, so the number is below zero", EQUATION),
        ("x² + 9", SQUARE),
        ("x squared plus 9", SQUARE),
        ("x^99999999 + 6x", FENCE),
    ],
)
def test_another_expression_or_equation_is_wrong(text: str, known: str) -> None:
    assert gives_algebra(text, known) is False


@pytest.mark.parametrize("text", ["I am not sure", "32 maybe", "What is x?", "the sum is 26"])
def test_what_states_no_answer_in_letters_is_left_open(text: str) -> None:
    assert gives_algebra(text, FENCE) is None


@pytest.mark.parametrize("answer", ["v = 26 m/s", "F = m × a", "72", "x = 7", "a = 50 / 20"])
def test_numbers_and_laws_are_no_algebra(answer: str) -> None:
    assert algebra(answer) is None


def test_a_plan_may_expect_an_equation() -> None:
    expected = SubQuestion(question="Which equation?", answer=EQUATION)
    assert gives_expected("I get 5 + 3x = 26", expected) is True
    assert gives_expected("5x + 3 = 26", expected) is False
    assert gives_expected("26", expected) is None
