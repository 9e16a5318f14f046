"""The verdict of a program, however it says it."""

from typing import Any

from soliloquy.recipes.verdicts import verdict
from soliloquy.v1.sandbox_pb2 import Execution, Items, NamedValue, Status, Value
from tests.cases import each_case
from tests.unit.scripted.growing import tagged

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
