"""The verdict of a program, however it says it."""

import pytest

from soliloquy.recipes.verdicts import verdict
from soliloquy.v1.sandbox_pb2 import Execution, Items, NamedValue, Status, Value

YES, NO = Value(boolean=True), Value(boolean=False)
BOTH = Value(items=Items(items=[YES, NO]))


@pytest.mark.parametrize(
    ("values", "right"),
    [
        ({"ok": YES}, True),
        ({"ok": NO}, False),
        ({"speed": Value(real=3.0)}, None),
        ({"speed_ok": YES, "mass_ok": YES}, True),
        ({"speed_ok": YES, "mass_ok": NO}, False),
        ({"parts_ok": BOTH}, False),
        ({"is_incorrect": NO}, True),
        ({"is_right": YES, "units_mismatch": NO}, True),
        ({"has_mistake": YES}, False),
        ({"is_invalid": NO}, True),
        ({"is_valid": NO}, False),
        ({"student_is_close": NO, "expected_is_close": YES}, False),
        ({"student_is_close": YES, "expected_is_close": NO}, True),
        ({"has_error": YES}, False),
        ({"sign_error": YES}, False),
        ({"unit_error": NO}, True),
        ({"no_errors": YES}, True),
        ({"error_within_tolerance": YES}, True),
        ({"difference_is_small": YES}, True),
        ({"failed": YES}, False),
        ({"inconsistent": YES}, False),
        ({"exceeds_tolerance": YES}, False),
        ({"outside_tolerance": NO}, True),
        ({"not_equal": YES}, False),
        ({"comparison": NO}, False),
        ({"result": YES}, True),
        ({"is_even": NO}, None),
        ({"needs_rounding": NO}, None),
        ({"is_even": NO, "is_correct": YES}, True),
        ({"result": Value(text="Correct!")}, True),
        ({"result": Value(text="incorrect")}, False),
        ({"result": Value(text="the speed is 3 m/s")}, None),
    ],
)
def test_all_that_a_program_says_of_the_answer_must_be_right(values: dict[str, Value], right: bool | None) -> None:
    named = [NamedValue(name=name, value=value) for name, value in values.items()]
    assert verdict(Execution(status=Status.STATUS_OK, values=named)) is right


def test_a_printed_verdict_counts_where_no_value_has_one() -> None:
    assert verdict(Execution(status=Status.STATUS_OK, stdout="3.0\nTrue")) is True
    assert verdict(Execution(status=Status.STATUS_OK, values=[NamedValue(name="ok", value=NO)], stdout="True")) is False
    # It prints the value.
    even = Execution(status=Status.STATUS_OK, values=[NamedValue(name="is_even", value=NO)], stdout="False")
    assert verdict(even) is None


def test_a_program_that_failed_has_no_verdict() -> None:
    assert verdict(Execution(status=Status.STATUS_ERROR, values=[NamedValue(name="ok", value=YES)])) is None
