"""A program begins with values that somebody gave; one that nobody gave is marked."""

from soliloquy.recipes.given_values import check_given_values
from soliloquy.v1.conversation_pb2 import Calculation, CodeAttempt, Conversation, Problem, StudentReply, Turn
from tests.cases import each_case


@each_case
def test_a_value_that_nobody_gave_is_found(code: str, found: list[str]) -> None:
    turn = Turn(
        number=1,
        student=StudentReply(text="I get 3500 N."),
        calculation=Calculation(description="Calculate the force for m = 1200 kg.", attempts=[CodeAttempt(code=code)]),
    )
    problem = Problem(question="A car of 1200 kg gains 3 m/s each second. The track is 5 cm wide.")
    made = Conversation(problem=problem, turns=[turn])
    assert [evidence for _, evidence in check_given_values(made, made.turns)] == found
