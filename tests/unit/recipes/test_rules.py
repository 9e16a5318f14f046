"""Which conversations are kept, and what is said of those that are not."""

import pytest

from soliloquy.recipes.check_report import CheckedConversation
from soliloquy.recipes.soliloquy.recipe import RECIPE
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_PROSE, Ending, Turn
from soliloquy.v1.sandbox_pb2 import NamedValue, Status, Value
from tests.cases import each_case
from tests.unit.recipes.conversations import calculated, conversation, sound_conversation, sound_turns, turn

FAILED = Status.STATUS_ERROR


PROGRAMS = {
    None: None,
    "agrees": calculated(True),
    "denies": calculated(False),
    "fails": calculated(None, status=FAILED),
}


def second_turn(student: str, tutor: str, codes: str, step: int, program: str | None) -> Turn:
    return turn(student, tutor.replace("WELL", "well " * 200), codes=codes, step=step, calculation=PROGRAMS[program])


def with_second(bent: Turn) -> list[str]:
    first, _, last = sound_turns()
    return RECIPE.faults(conversation(first, bent, last))


def test_a_sound_conversation_is_kept() -> None:
    assert RECIPE.faults(sound_conversation()) == []


@each_case
def test_a_fault_is_named_with_its_turn_and_evidence(
    student: str, tutor: str, codes: str, step: int, program: str | None, expected: str
) -> None:
    assert expected in with_second(second_turn(student, tutor, codes, step, program))


@each_case
def test_a_reading_that_nobody_has_shown_right_rejects_no_conversation(
    student: str, tutor: str, codes: str, step: int, program: str | None, expected: str
) -> None:
    first, _, last = sound_turns()
    checked = RECIPE.check(conversation(first, second_turn(student, tutor, codes, step, program), last))
    assert expected in checked.marks
    assert expected not in checked.faults


def on_read_plan(*turns: Turn) -> CheckedConversation:
    made = conversation(*turns)
    made.problem.plan = PLAN_SOURCE_PROSE
    return RECIPE.check(made)


@pytest.mark.parametrize(
    ("bent", "rule"),
    [
        (turn("3600 N", "Right!", codes="b3r", step=2), "steps"),
        (turn("3 N", "It is 3600 N.", codes="a2r", step=1), "three wrong"),
    ],
)
def test_the_order_of_steps_is_no_fault_on_a_plan_that_was_read_from_prose(bent: Turn, rule: str) -> None:
    first, _, last = sound_turns()
    assert any(fault.startswith(f"{rule}:") for fault in RECIPE.check(conversation(first, bent, last)).faults)
    checked = on_read_plan(first, bent, last)
    assert [fault for fault in (*checked.faults, *checked.marks) if fault.startswith(f"{rule}:")] == []


def early_answers(bent: Turn) -> list[str]:
    """What a reply gives away on a plan that was read."""
    first, _, last = sound_turns()
    marks = on_read_plan(first, bent, last).marks
    return [mark.removeprefix("early answer: turn 2: ") for mark in marks if mark.startswith("early answer")]


def test_on_a_plan_that_was_read_a_result_is_early_where_the_tutor_calls_the_student_wrong() -> None:
    hint = "Not quite: it is 3600 N. Try again."
    assert early_answers(turn("3 N", hint, codes="a1q", step=1)) == ["gives '3600 N' of step 1"]
    # A right answer makes the result the student's, and what somebody has said is known.
    assert early_answers(turn("I multiply them.", "Right, 3600 N.", codes="b3r", step=1)) == []
    assert early_answers(turn("Not 3600 N?", hint, codes="a1q", step=1)) == []


def test_on_a_plan_that_was_read_what_the_program_of_the_turn_came_to_is_early_too() -> None:
    program = calculated(False)
    program.attempts[-1].execution.values.append(NamedValue(name="x", value=Value(real=77.25)))
    hint = turn("70 N", "It should be 77.25 N. Try again.", codes="a1q", step=1, calculation=program)
    assert early_answers(hint) == ["gives '77.25 N' of step 1"]
    hint.ClearField("calculation")
    assert early_answers(hint) == []


def test_a_step_may_be_told_when_the_student_asks_for_it() -> None:
    told = turn("Just tell me.", "It is 3600 N. What work is done?", codes="f9r", step=1, calculation=calculated(None))
    assert with_second(told) == []


def test_what_the_student_said_may_be_repeated() -> None:
    first, _, last = sound_turns()
    repeated = turn("3600 N?", "You say 3600 N: show me how.", codes="d6q", step=1)
    again = turn("1500 * 2.4 = 3600 N", "Right. What work is done?", codes="b3r", step=1, calculation=calculated(True))
    assert RECIPE.faults(conversation(first, repeated, again, last)) == []


def test_a_student_may_go_back_a_step() -> None:
    first, second, last = sound_turns()
    back = turn("Can we go back?", "Of course. Which force was it?", codes="f10q", step=1)
    again = turn("3600 N, as before.", "Yes. And the work?", codes="b3r", step=1, calculation=calculated(True))
    assert RECIPE.faults(conversation(first, second, back, again, last)) == []


def test_an_end_before_the_last_step_is_a_fault() -> None:
    first, *_ = sound_turns()
    early = turn("It is 3600 N.", "Well done!", codes="b3t", step=1, calculation=calculated(True))
    assert RECIPE.faults(conversation(first, early)) == ["steps: turn 2: finished at step 1 of 2"]


@pytest.mark.parametrize("ending", [Ending.ENDING_TURN_LIMIT, Ending.ENDING_UNPARSABLE])
def test_a_conversation_that_was_cut_off_is_not_kept(ending: Ending) -> None:
    assert RECIPE.faults(conversation(*sound_turns(), ending=ending)) == [f"not solved: {Ending.Name(ending)}"]
