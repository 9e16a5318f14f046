"""An endpoint is failing while no call succeeds, unless it is at work on one."""

from dataclasses import replace

import pytest

from soliloquy.runtime.model.faults import Held, Overloaded, RetryableFault, TimedOut
from soliloquy.runtime.model.gate import PAUSE_SECONDS, WORKING_SECONDS, Gate
from soliloquy.runtime.model.status import EndpointStatus, merged


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gate(clock: Clock) -> Gate:
    return Gate("far", 10, clock)


async def answer(gate: Gate) -> None:
    gate.answered(await gate.enter())


async def fail(gate: Gate, fault: RetryableFault) -> None:
    gate.failed(await gate.enter(), fault)


async def test_it_fails_from_the_first_attempt_after_the_last_success(gate: Gate, clock: Clock) -> None:
    await answer(gate)
    await fail(gate, Overloaded("503"))
    clock.now += 40
    await fail(gate, Overloaded("503 again"))
    clock.now += 20
    assert (gate.status.failing_seconds, gate.status.error) == (60.0, "503 again")
    await answer(gate)
    assert (gate.status.failing_seconds, gate.status.error) == (0.0, "")


async def test_a_call_that_nobody_waits_for_any_more_is_no_beginning_of_a_failure(gate: Gate, clock: Clock) -> None:
    await answer(gate)
    permit = await gate.enter()
    clock.now += 1
    gate.abandon(permit)
    clock.now += 300
    await fail(gate, Overloaded("503"))
    assert gate.status.failing_seconds == 0.0
    clock.now += 5
    gate.abandon(await gate.enter())
    assert gate.status.failing_seconds == 5.0


async def test_an_endpoint_that_takes_its_time_is_not_failing(gate: Gate, clock: Clock) -> None:
    await fail(gate, Overloaded("loading the model"))
    with gate.call():
        await gate.enter()
        clock.now += 300
        status = gate.status
        assert (status.waiting, status.oldest_seconds, status.failing_seconds) == (1, 300.0, 0.0)


async def test_an_endpoint_that_lets_calls_hang_is_failing(gate: Gate, clock: Clock) -> None:
    await fail(gate, TimedOut("no answer within 120 s"))
    clock.now += 1
    await gate.enter()
    clock.now += 2 * WORKING_SECONDS
    assert gate.status.failing_seconds == 2 * WORKING_SECONDS + 1


async def test_a_refusal_of_every_call_lasts_until_one_succeeds(gate: Gate, clock: Clock) -> None:
    await fail(gate, Held("the key is wrong"))
    assert gate.status.refused
    clock.now += PAUSE_SECONDS
    await answer(gate)
    assert not gate.status.refused


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
