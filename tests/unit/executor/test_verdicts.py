"""A verdict holds if the host computes the same from the same numbers."""

import re

import pytest

from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, STATUS_OK, Execution, NamedValue, Value
from soliloquy_services.executor.guest.verdicts import Verdict
from soliloquy_services.executor.reports import recompute


def done(**values: Value) -> Execution:
    named = [NamedValue(name=name, value=value) for name, value in values.items()]
    return Execution(status=STATUS_OK, values=named, stdout="out")


def verdict(left: str | float, right: str | float, *, rel_tol: float = 0.01, abs_tol: float = 0.0) -> Verdict:
    return Verdict(name="right", left=left, right=right, rel_tol=rel_tol, abs_tol=abs_tol)


YES, NO = Value(boolean=True), Value(boolean=False)


def test_a_verdict_that_holds_is_named() -> None:
    told = recompute(done(right=YES, t=Value(real=3.4268)), [verdict(3.43, "t")], {})
    assert (told.status, list(told.recomputed)) == (STATUS_OK, ["right"])


@pytest.mark.parametrize(
    ("claimed", "t", "shown"), [(YES, 15.2, "is True, but .* is False"), (NO, 3.43, "is False, but .* is True")]
)
def test_a_verdict_that_contradicts_its_numbers_is_an_error(claimed: Value, t: float, shown: str) -> None:
    told = recompute(done(right=claimed, t=Value(real=t)), [verdict(3.43, "t")], {})
    assert told.status == STATUS_ERROR
    assert not told.values
    assert told.stdout == "out"
    assert re.search(shown, told.error)


def test_numbers_that_were_not_asked_for_come_as_evidence() -> None:
    assert recompute(done(right=YES), [verdict("s", "t")], {"s": 1.0, "t": 1.0}).recomputed == ["right"]


def test_integers_count_as_they_are() -> None:
    whole = Value(integer="9007199254740993")
    exact = verdict("n", 9007199254740993, rel_tol=0.0)
    assert recompute(done(right=YES, n=whole), [exact], {}).recomputed == ["right"]


@pytest.mark.parametrize(
    "values",
    [
        {"right": YES},
        {"right": YES, "t": Value(text="3.43")},
        {"right": YES, "t": Value(integer="1" + "0" * 400)},
        {"right": Value(integer="1"), "t": Value(real=3.43)},
        {"t": Value(real=3.43)},
    ],
)
def test_what_cannot_be_computed_again_is_left_as_it_is(values: dict[str, Value]) -> None:
    told = recompute(done(**values), [verdict(3.43, "t")], {})
    assert (told.status, list(told.recomputed)) == (STATUS_OK, [])


def test_a_verdict_in_greek_is_found_however_the_name_is_typed() -> None:
    micro_sign, greek_mu = "\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}"
    told = recompute(done(right=YES, **{micro_sign: Value(real=0.3)}), [verdict(0.3, greek_mu)], {})
    assert told.recomputed == ["right"]
