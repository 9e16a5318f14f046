"""An endpoint is failing while no call succeeds, unless it is at work on one."""

from dataclasses import replace

import pytest

from soliloquy.runtime.model.faults import Held, Overloaded, RetryableFault, TimedOut
from soliloquy.runtime.model.status import WORKING_SECONDS, CallRecord, EndpointStatus, merged


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def record(clock: Clock) -> CallRecord:
    return CallRecord("far", clock)


def fail(record: CallRecord, fault: RetryableFault) -> None:
    with record.attempt():
        pass
    record.failed(fault)


def test_it_fails_from_the_first_attempt_after_the_last_success(record: CallRecord, clock: Clock) -> None:
    record.answered()
    fail(record, Overloaded("503"))
    clock.now += 40
    fail(record, Overloaded("503 again"))
    clock.now += 20
    assert (record.status.failing_seconds, record.status.error) == (60.0, "503 again")
    record.answered()
    assert (record.status.failing_seconds, record.status.error) == (0.0, "")


def test_a_call_that_nobody_waits_for_any_more_is_no_beginning_of_a_failure(record: CallRecord, clock: Clock) -> None:
    record.answered()
    with record.attempt():
        clock.now += 1
    record.abandoned()
    clock.now += 300
    fail(record, Overloaded("503"))
    assert record.status.failing_seconds == 0.0
    clock.now += 5
    with record.attempt():
        pass
    record.abandoned()
    assert record.status.failing_seconds == 5.0


def test_an_endpoint_that_takes_its_time_is_not_failing(record: CallRecord, clock: Clock) -> None:
    fail(record, Overloaded("loading the model"))
    with record.call(), record.attempt():
        clock.now += 300
        status = record.status
        assert (status.waiting, status.oldest_seconds, status.failing_seconds) == (1, 300.0, 0.0)


def test_an_endpoint_that_lets_calls_hang_is_failing(record: CallRecord, clock: Clock) -> None:
    fail(record, TimedOut("no answer within 120 s"))
    with record.call(), record.attempt():
        clock.now += 2 * WORKING_SECONDS
        assert record.status.failing_seconds == 2 * WORKING_SECONDS


def test_a_refusal_of_every_call_lasts_until_one_succeeds(record: CallRecord) -> None:
    fail(record, Held("the key is wrong"))
    assert record.status.refused
    record.answered()
    assert not record.status.refused


def test_an_endpoint_fails_only_where_it_fails_for_every_process() -> None:
    idle = EndpointStatus(
        where="far", waiting=0, oldest_seconds=0, in_flight=0, failing_seconds=0, error="", refused=False
    )
    failing = replace(idle, waiting=3, oldest_seconds=9, in_flight=1, failing_seconds=70, error="503")
    busy = replace(idle, waiting=2, oldest_seconds=1, in_flight=2)
    [status] = merged([failing, idle])
    assert (status.waiting, status.failing_seconds, status.error) == (3, 70, "503")
    [status] = merged([busy, failing])
    assert (status.waiting, status.oldest_seconds, status.in_flight, status.failing_seconds) == (5, 9, 3, 0)
