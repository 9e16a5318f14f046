"""A program begins with values that somebody gave; one that nobody gave is marked."""

import pytest

from soliloquy.recipes.given_values import check_given_values
from soliloquy.v1.conversation_pb2 import Calculation, CodeAttempt, Conversation, Problem, StudentReply, Turn


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("m = 1200\na = 3.0\nf = m * a", []),
        ("m = 1.2e3\nd = 0.05", []),
        ("g = 9.81\nhours = 3600\nstudent_f = 3500", []),
        ("m = 1250\na = 3\nf = m * a", ["the program takes m = 1250, which nobody gave"]),
        ("d = 0.7", ["the program takes d = 0.7, which nobody gave"]),
        ("is_correct = True\nname = 'F'\nf = 17 * 19", []),
        ("f = (", []),
    ],
)
def test_a_value_that_nobody_gave_is_found(code: str, found: list[str]) -> None:
    turn = Turn(
        number=1,
        student=StudentReply(text="I get 3500 N."),
        calculation=Calculation(description="Calculate the force for m = 1200 kg.", attempts=[CodeAttempt(code=code)]),
    )
    problem = Problem(question="A car of 1200 kg gains 3 m/s each second. The track is 5 cm wide.")
    made = Conversation(problem=problem, turns=[turn])
    assert [evidence for _, evidence in check_given_values(made, made.turns)] == found
