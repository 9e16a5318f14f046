"""What a message holds of a problem's answer."""

import pytest

from soliloquy.recipes.mathdial.claims import holds_answer
from soliloquy.v1.conversation_pb2 import Problem, Quantity

PROBLEM = Problem(
    question="Ada buys three books a week, 12 dollars each. How many weeks does she read for 144 dollars?",
    answer=Quantity(value=4, unit="weeks"),
)


@pytest.mark.parametrize(("text", "holds"), [("So 4 weeks", True), ("**4**", True), ("So 12 weeks", False)])
def test_an_answer_is_held_in_digits(text: str, holds: bool) -> None:
    assert holds_answer(text, PROBLEM) is holds
