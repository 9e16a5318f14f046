"""A program that compares nothing is compared by its numbers, and a tutor must not deny them."""

from soliloquy.recipes.agreement import agrees, contradictions
from soliloquy.recipes.soliloquy.rules import POLICY
from soliloquy.v1.conversation_pb2 import (
    EVALUATION_CORRECT,
    EVALUATION_INCORRECT,
    EVALUATION_PARTIAL,
    Conversation,
    Turn,
)
from soliloquy.v1.sandbox_pb2 import STATUS_OK, NamedValue, Value
from tests.cases import each_case

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


def test_a_tutor_who_denies_what_the_program_came_to_contradicts_it() -> None:
    denied = turn_of("How long is it?", {"t": 5.0}, "c", "It is 10 seconds, not 5 seconds.")
    told = turn_of("Is it 10 s?", {"t": 5.0}, "a", "It is 5 seconds, not 10 seconds.")
    found = list(contradictions(Conversation(), [denied, told], AGREEING))
    assert found == [(1, "denies '5', which the code came to")]


@each_case
def test_a_tutor_who_reports_another_result_contradicts_the_program(reply: str, reported: str) -> None:
    turn = turn_of("I get 15 m/s.", {"v": 12.5}, "a", reply)
    found = [(1, f"reports {reported!r}, which the code did not come to")] if reported else []
    assert list(contradictions(Conversation(), [turn], AGREEING)) == found


def test_values_that_were_only_printed_are_reported_too() -> None:
    turn = turn_of("I get 15 s.", {}, "a", "The computational result for t is approximately 10 s.")
    turn.calculation.attempts[0].execution.stdout = "t1 = (10.93-0j)\nt2 = (0.09+0j)"
    assert list(contradictions(Conversation(), [turn], AGREEING)) == [
        (1, "reports '10 s', which the code did not come to")
    ]
