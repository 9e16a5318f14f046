"""Checks that values leave the sandbox as the objects they were."""

import math

import pytest

from soliloquy.runtime.values import Unserialisable, python_value
from soliloquy.v1.sandbox_pb2 import Complex, Entries, Entry, Items, Value

_ONE = Value(integer="1")
_PAIR = Value(items=Items(items=[_ONE, Value(text="a")]))


@pytest.mark.parametrize(
    ("value", "python"),
    [
        (Value(boolean=False), False),
        (Value(integer="-7"), -7),
        (Value(real=-math.inf), -math.inf),
        (Value(complex=Complex(real=2, imaginary=-1)), 2 - 1j),
        (Value(text="µ"), "µ"),
        (Value(none=True), None),
        (Value(), None),
        (_PAIR, [1, "a"]),
        (Value(entries=Entries(entries=[Entry(key=_PAIR, value=_PAIR)])), {(1, "a"): [1, "a"]}),
        (Value(unserialisable="Decimal"), Unserialisable("Decimal")),
    ],
    ids=repr,
)
def test_a_value_is_the_object_it_was(value: Value, python: object) -> None:
    assert python_value(value) == python
    assert type(python_value(value)) is type(python)


@pytest.mark.parametrize("whole", [0, -1, 10**4000, 3 - 10**4000, 7**20_000, -(7**20_000)], ids=lambda n: n % 997)
def test_an_integer_may_have_more_digits_than_python_reads_at_a_time(whole: int) -> None:
    assert python_value(Value(integer=_digits(whole))) == whole


def _digits(whole: int) -> str:
    digits, rest = "", abs(whole)
    while rest >= 10**1000:
        rest, last = divmod(rest, 10**1000)
        digits = f"{last:01000d}{digits}"
    return f"{'-' if whole < 0 else ''}{rest}{digits}"


def test_what_could_not_leave_the_sandbox_is_shown_by_its_type() -> None:
    assert repr(python_value(Value(unserialisable="function"))) == "<function>"
