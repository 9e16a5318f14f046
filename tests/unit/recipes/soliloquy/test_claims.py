"""Which number of a message is the student's answer to the step at hand."""

import pytest

from soliloquy.recipes.soliloquy.truth import assess
from soliloquy.truth.quantities import quantities_in
from soliloquy.v1.conversation_pb2 import Conversation, StudentReply, Turn
from tests.cases import each_case
from tests.unit.recipes.conversations import problem, turn
from tests.unit.recipes.conversations import problem as car


def claimed(*said: tuple[str, str]) -> tuple[float, bool | None] | None:
    """Reads the last of these messages, each with the codes of its reply."""
    turns = [turn(text, "Go on.", codes=codes, step=1) for text, codes in said]
    *_, last = assess(Conversation(problem=problem(), turns=turns))
    read = quantities_in(last.claim.said)
    return (read[0].value, last.claim.right) if read else None


@pytest.mark.parametrize(
    "reason", ["Because a kilonewton is a thousand newtons.", "A mass of 1 kg at 1 m/s^2 takes 1 N of force, I think."]
)
def test_a_number_in_the_reason_for_a_right_answer_is_no_answer(reason: str) -> None:
    assert claimed(("The net force is 3600 N.", "b3q"), (reason, "c5p")) is None
    assert claimed(("How do I begin?", "f8q"), (reason, "c5q")) is not None


def test_an_answer_that_is_said_again_with_its_reason_is_one() -> None:
    again = "It is 3600 N, because a force is mass times acceleration."
    assert claimed(("The net force is 3600 N.", "b3q"), (again, "b3p")) == (3600, True)


@each_case
def test_a_result_in_markdown_or_latex_is_right(said: str) -> None:
    found = claimed((said, "b3q"))
    assert found is not None
    assert found[1] is True


@each_case
def test_further_numbers_of_a_reason_make_no_right_answer_wrong(reason: str, right: bool | None) -> None:
    found = claimed((f"That makes 3600 N, {reason}", "b3p"))
    assert found is not None
    assert found[1] is right


@each_case
def test_a_kept_chat_is_judged_by_the_number_that_the_person_meant(text: str, right: bool) -> None:
    turn = Turn(number=1, student=StudentReply(text=text))
    [truth] = assess(Conversation(problem=car(), turns=[turn], person=True))
    assert truth.claim.right is right
