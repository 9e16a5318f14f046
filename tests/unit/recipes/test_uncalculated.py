"""A result that a student states is calculated for; numbers of the question, of questions and of reasons are not."""

import pytest

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


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("F = 12 kg * 3 m/s^2 = 36 N", "the student comes to '36 N'"),
        ("I multiplied them, so I got 40 N for the force.", "the student comes to '40 N'"),
        ("36 N", "the student comes to '36 N'"),
        ("The force is **36 N**.", "the student comes to '36 N'"),
        (r"$F = 36\,\text{N}$", "the student comes to '36 N'"),
        ("We know that m = 12 kg.", None),
        ("Is it more than 20 N, or how would I see that from here?", None),
        ("I would take the second law.", None),
        ("The velocity would be zero, since it turns round there.", None),
        ("A truck's mass is about 2000 times that of a cart.", None),
        ("A truck's mass is **2000** times that of a cart.", None),
        ("That is because a thousand grams are one kilogram.", None),
    ],
)
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
