"""An answer in letters is right in every equivalent form, and a wrong one is wrong however it is wrapped in words."""

import pytest

from soliloquy.recipes.scaffold.expected_answers import gives_expected
from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.truth.algebra_answers import algebra, gives_algebra
from tests.cases import each_case

FENCE, EQUATION, SQUARE = "P = 6x + 8", "3x + 5 = 26", "A = x² + 6x + 9"


@each_case
def test_every_equivalent_form_is_right(text: str, known: str) -> None:
    assert gives_algebra(text, known) is True


@each_case
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
