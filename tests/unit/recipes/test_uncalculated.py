"""A result that a student claims is calculated for; numbers of the question, of questions and of reasons are not."""

from soliloquy.recipes.uncalculated import check_uncalculated
from soliloquy.v1.conversation_pb2 import (
    CLAIM_READER_SPEAKER,
    Calculation,
    Claim,
    Conversation,
    Intent,
    Problem,
    StudentReply,
    Turn,
)

PROBLEM = Problem(question="A cart of 12 kg speeds up at 3 m/s^2. What net force acts?")


def found(*claims: Claim, **given: object) -> list[tuple[int, str]]:
    said = StudentReply(
        text="3² is 9, but I used 12 · 3 = 36 N.",
        claims=claims,
        claims_by=CLAIM_READER_SPEAKER,
        intent=Intent.INTENT_OPENING if given.get("opens") else Intent.INTENT_RIGHT,
    )
    calculation = Calculation(description="the force") if given.get("calculates") else None
    made = Conversation(problem=PROBLEM, turns=[Turn(number=2, student=said, calculation=calculation)])
    return [*check_uncalculated(made, made.turns)]


def test_a_claimed_result_without_a_calculation_is_found() -> None:
    force = Claim(quantity="F", value=36, unit="N")
    assert found(force) == [(2, "the student comes to '36 N'")]
    assert found() == found(Claim(quantity="m", value=12, unit="kg")) == []
    assert found(force, opens=True) == found(force, calculates=True) == []
