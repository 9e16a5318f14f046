"""The verdict of a program, also by its numbers; values that nobody gave, and results that nobody calculated."""

from typing import Any

import pytest

from soliloquy.recipes.agreement import agrees, contradictions, verification
from soliloquy.recipes.given_values import check_given_values, check_unfounded
from soliloquy.recipes.soliloquy.rules import POLICY
from soliloquy.recipes.uncalculated import check_uncalculated
from soliloquy.recipes.verdicts import verdict
from soliloquy.v1.conversation_pb2 import (
    CLAIM_READER_SPEAKER,
    EVALUATION_CORRECT,
    EVALUATION_INCORRECT,
    EVALUATION_PARTIAL,
    LEDGER_ROLE_ANSWER,
    VERIFICATION_PROGRAM,
    VERIFICATION_STEP,
    Calculation,
    Claim,
    CodeAttempt,
    Conversation,
    Intent,
    Problem,
    Quantity,
    StudentReply,
    Turn,
    TutorReply,
)
from soliloquy.v1.sandbox_pb2 import STATUS_OK, Execution, Items, NamedValue, Status, Value
from tests.cases import each_case
from tests.unit.scripted.growing import tagged

AGREEING = POLICY["agreeing"]
LETTERS = {"a": EVALUATION_INCORRECT, "b": EVALUATION_CORRECT, "c": EVALUATION_PARTIAL}


def turn_of(student: str, values: dict[str, float], letter: str, reply: str) -> Turn:
    turn = Turn(number=1)
    turn.student.text, turn.tutor.text, turn.tutor.evaluation = student, reply, LETTERS[letter]
    execution = turn.calculation.attempts.add(code="v = 1").execution
    execution.status = STATUS_OK
    execution.values.extend(NamedValue(name=name, value=Value(real=value)) for name, value in values.items())
    return turn


@each_case
def test_numbers_are_a_verdict_too(
    student: str, values: dict[str, float], letter: str, reply: str, agreed: bool | None
) -> None:
    assert agrees(turn_of(student, values, letter, reply), AGREEING) is agreed


def test_a_program_that_compares_its_own_number_says_nothing_of_the_students() -> None:
    own = turn_of("Then I divide the one by the other.", {"student_v": 12.5, "v": 12.5}, "a", "No, by 2 s.")
    other = turn_of("Then it is 10 m/s.", {"student_v": 12.5, "v": 12.5}, "a", "No, divide by 4 s.")
    stated = turn_of("Then it is 12.5 m/s.", {"student_v": 12.5, "v": 12.5}, "a", "No, divide by 2 s.")
    for turn in (own, other, stated):
        turn.calculation.attempts[0].execution.values.add(name="is_right").value.boolean = True
    assert [agrees(turn, AGREEING) for turn in (own, other, stated)] == [None, True, False]
    own.tutor.evaluation = EVALUATION_CORRECT
    assert agrees(own, AGREEING) is True


@pytest.mark.parametrize(
    ("code", "supported"),
    [
        ("v = 12.5\nstudent_v = 12.5\nis_right = math.isclose(student_v, v)", VERIFICATION_STEP),
        ("v = 12.5\nstudent_v = 12.5\nis_right = abs(student_v - v) < 0.01", VERIFICATION_STEP),
        ("v = 25 / 2\nstudent_v = 12.5\nis_right = abs(student_v - v) < 0.01", VERIFICATION_PROGRAM),
        ("v = math.hypot(3.5, 12)\nstudent_v = 12.5\nis_right = math.isclose(student_v, v)", VERIFICATION_PROGRAM),
    ],
)
def test_a_program_that_calculates_nothing_supports_no_verdict(code: str, supported: int) -> None:
    turn = turn_of("Then it is 12.5 m/s.", {"student_v": 12.5, "v": 12.5}, "b", "Yes.")
    turn.calculation.attempts[0].code = code
    assert verification(turn, settled=True) == supported


def test_a_tutor_who_denies_what_the_program_came_to_contradicts_it() -> None:
    denied = turn_of("How long is it?", {"t": 5.0}, "c", "It is 10 seconds, not 5 seconds.")
    told = turn_of("Is it 10 s?", {"t": 5.0}, "a", "It is 5 seconds, not 10 seconds.")
    found = list(contradictions(Conversation(), [denied, told], AGREEING))
    assert found == [(1, "denies '5', which the program came to")]


@each_case
def test_a_tutor_who_reports_another_result_contradicts_the_program(reply: str, reported: str) -> None:
    turn = turn_of("I get 15 m/s.", {"v": 12.5}, "a", reply)
    found = [(1, f"reports {reported!r}, which the program did not come to")] if reported else []
    assert list(contradictions(Conversation(), [turn], AGREEING)) == found


def test_values_that_were_only_printed_are_reported_too() -> None:
    turn = turn_of("I get 15 s.", {}, "a", "The computational result for t is approximately 10 s.")
    turn.calculation.attempts[0].execution.stdout = "t1 = (10.93-0j)\nt2 = (0.09+0j)"
    assert list(contradictions(Conversation(), [turn], AGREEING)) == [
        (1, "reports '10 s', which the program did not come to")
    ]


YES, NO = Value(boolean=True), Value(boolean=False)


def _value(told: Any) -> Value:
    return Value(items=Items(items=map(_value, told))) if isinstance(told, list) else tagged(told)


@each_case
def test_all_that_a_program_says_of_the_answer_must_be_right(values: dict[str, Any], right: bool | None) -> None:
    named = [NamedValue(name=name, value=_value(told)) for name, told in values.items()]
    assert verdict(Execution(status=Status.STATUS_OK, values=named)) is right


def test_a_printed_verdict_counts_where_no_value_has_one() -> None:
    assert verdict(Execution(status=Status.STATUS_OK, stdout="3.0\nTrue")) is True
    assert verdict(Execution(status=Status.STATUS_OK, values=[NamedValue(name="ok", value=NO)], stdout="True")) is False
    # It prints the value.
    even = Execution(status=Status.STATUS_OK, values=[NamedValue(name="is_even", value=NO)], stdout="False")
    assert verdict(even) is None


def test_a_program_that_failed_has_no_verdict() -> None:
    assert verdict(Execution(status=Status.STATUS_ERROR, values=[NamedValue(name="ok", value=YES)])) is None


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


@each_case
def test_a_number_that_a_reply_has_from_nowhere_is_found(reply: str, found: list[str]) -> None:
    problem = Problem(question="A car of 1200 kg gains 3 m/s each second, on 5 of 200 m. What force acts, in N?")
    problem.ledger.entries.add(quantity=Quantity(symbol="F", value=3600, unit="N"), role=LEDGER_ROLE_ANSWER)
    before = Turn(number=1, student=StudentReply(text="Is it 417 N?"), tutor=TutorReply(text="Near 4001 N, try again."))
    ran = Execution(status=Status.STATUS_OK, values=[NamedValue(name="p", value=tagged(1.2345))])
    turn = Turn(number=2, calculation=Calculation(attempts=[CodeAttempt(execution=ran)]), tutor=TutorReply(text=reply))
    made = Conversation(problem=problem, turns=[before, turn])
    assert [evidence for _, evidence in check_unfounded(made, [turn], lambda _: "I divide 36 by 7.")] == found


PROBLEM = Problem(question="A cart of 12 kg speeds up at 3 m/s^2. What net force acts?")


def uncalculated(*claims: Claim, **given: object) -> list[tuple[int, str]]:
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
    assert uncalculated(force) == [(2, "the student comes to '36 N'")]
    assert uncalculated() == uncalculated(Claim(quantity="m", value=12, unit="kg")) == []
    assert uncalculated(force, opens=True) == uncalculated(force, calculates=True) == []
