"""Calls to an endpoint that answers none stop, and resume once it is back."""

import pytest

from soliloquy.runtime.model.gate import FAILURES, PAUSE_CAP_SECONDS, PAUSE_SECONDS, Breaker


def opened(now: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(FAILURES):
        breaker.failed(now, probe=False)
    return breaker


def test_failures_in_a_row_open_it() -> None:
    breaker = Breaker()
    for _ in range(FAILURES - 1):
        breaker.failed(0.0, probe=False)
    assert breaker.pause(0.0) == 0.0
    breaker.failed(0.0, probe=False)
    assert breaker.pause(0.0) == PAUSE_SECONDS


def test_an_answer_between_failures_keeps_it_closed() -> None:
    breaker = Breaker()
    for _ in range(3 * FAILURES):
        breaker.failed(0.0, probe=False)
        if not breaker.is_open:
            breaker.succeeded()
    assert not breaker.is_open


def test_after_the_pause_one_call_finds_out_and_others_wait_for_it() -> None:
    breaker = opened()
    assert breaker.pause(PAUSE_SECONDS / 2) > 0
    assert breaker.pause(PAUSE_SECONDS) == 0
    assert breaker.begin()
    assert breaker.pause(PAUSE_SECONDS) == float("inf")


def test_its_answer_closes_it() -> None:
    breaker = opened()
    breaker.begin()
    breaker.succeeded()
    assert breaker.pause(1.0) == 0.0
    assert not breaker.begin()


def test_its_failure_opens_it_for_twice_as_long_up_to_a_cap() -> None:
    breaker, now, pauses = opened(), 0.0, []
    for _ in range(10):
        now += breaker.pause(now)
        breaker.begin()
        breaker.failed(now, probe=True)
        pauses.append(breaker.pause(now))
    assert pauses[:3] == [2 * PAUSE_SECONDS, 4 * PAUSE_SECONDS, 8 * PAUSE_SECONDS]
    assert pauses[-1] == PAUSE_CAP_SECONDS


def test_calls_that_fail_late_do_not_hold_it_open() -> None:
    breaker = opened()
    breaker.failed(PAUSE_SECONDS, probe=False)
    assert breaker.pause(PAUSE_SECONDS) == 0.0


def test_an_answer_to_a_call_that_began_before_closes_it_too() -> None:
    breaker = opened()
    breaker.succeeded()
    assert breaker.pause(0.0) == 0.0


def test_one_that_ends_without_finding_out_leaves_it_to_the_next() -> None:
    breaker = opened()
    assert breaker.begin()
    breaker.abandoned(probe=True)
    assert breaker.pause(PAUSE_SECONDS) == 0.0
    assert breaker.begin()


@pytest.mark.parametrize("failures", [FAILURES, 5 * FAILURES])
def test_after_it_closed_it_takes_as_many_failures_again(failures: int) -> None:
    breaker = opened()
    breaker.succeeded()
    for _ in range(FAILURES - 1):
        breaker.failed(0.0, probe=False)
    assert not breaker.is_open
    for _ in range(failures - FAILURES + 1):
        breaker.failed(0.0, probe=False)
    assert breaker.is_open
