"""Which number of a student's message is its answer, and not one of the question."""

import pytest

from soliloquy.recipes.mathdial.claims import claimed_answer, holds_answer
from soliloquy.v1.conversation_pb2 import Problem, Quantity

PROBLEM = Problem(
    question="Ada buys three books a week, 12 dollars each. How many weeks does she read for 144 dollars?",
    answer=Quantity(value=4, unit="weeks"),
)


@pytest.mark.parametrize(
    ("message", "value"),
    [
        ("She reads 4 weeks for 144 dollars.", 4),
        ("She reads for 12 weeks.", 12),
        ("144 / 36 = 4, and 4 × 3 = 12", 12),
        ("Ada has 12 books.", 12),
    ],
)
def test_a_number_of_the_question_is_claimed_only_if_nothing_else_is(message: str, value: float) -> None:
    problem = Problem(question=PROBLEM.question, answer=Quantity(value=4))
    assert claimed_answer(message, problem) == value


@pytest.mark.parametrize(
    ("message", "value"),
    [
        ("30 / 100 = 0.3 and 100 × 0.3 = 30. So it's 30 seeds.", 30),
    ],
)
def test_a_product_checks_a_quotient_and_an_answer_of_the_same_number_does_not(message: str, value: float) -> None:
    problem = Problem(question="Some seeds do not sprout.", answer=Quantity(value=30))
    assert claimed_answer(message, problem) == value


def test_the_unit_asked_for_comes_first() -> None:
    assert claimed_answer("She pays 36 dollars each for 12 weeks of books", PROBLEM) == 12


@pytest.mark.parametrize(("text", "holds"), [("So 4 weeks", True), ("**4**", True), ("So 12 weeks", False)])
def test_an_answer_is_held_in_digits(text: str, holds: bool) -> None:
    assert holds_answer(text, PROBLEM) is holds
