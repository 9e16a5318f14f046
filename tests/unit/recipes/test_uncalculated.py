"""A result that a student states is calculated for; numbers of the question, of questions and of reasons are not."""

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
from tests.cases import each_case

PROBLEM = Problem(question="A cart of 12 kg speeds up at 3 m/s^2. What net force acts?")


@each_case
def test_a_result_without_a_calculation_is_found(said: str, found: str | None) -> None:
    made = Conversation(problem=PROBLEM, turns=[Turn(number=2, student=StudentReply(text=said))])
    assert [evidence for _, evidence in check_uncalculated(made, made.turns)] == ([found] if found else [])


def test_a_student_who_says_what_it_claims_is_taken_at_its_word() -> None:
    claimed = [Claim(quantity="F", value=36, unit="N")]
    said = StudentReply(text="3² is 9, but I used 12 · 3 = 36 N.", claims=claimed, claims_by=CLAIM_READER_SPEAKER)
    made = Conversation(problem=PROBLEM, turns=[Turn(number=2, student=said)])
    assert [*check_uncalculated(made, made.turns)] == [(2, "the student comes to '36 N'")]
    del made.turns[0].student.claims[:]
    assert [*check_uncalculated(made, made.turns)] == []


def test_openings_and_turns_with_a_calculation_need_none() -> None:
    opening = StudentReply(text="It says 36 N in the book.", intent=Intent.INTENT_OPENING)
    calculated = Turn(number=2, student=StudentReply(text="36 N"), calculation=Calculation(description="the force"))
    made = Conversation(problem=PROBLEM, turns=[Turn(number=1, student=opening), calculated])
    assert [*check_uncalculated(made, made.turns)] == []
