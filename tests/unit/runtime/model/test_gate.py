"""Calls pass in order, as many as the endpoint takes."""

import asyncio

import pytest

from soliloquy.runtime.model.faults import Throttled, Unreachable
from soliloquy.runtime.model.gate import FAILURES, Gate, Permit


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def shut(gate: Gate) -> None:
    for _ in range(FAILURES):
        gate.failed(await gate.enter(), Unreachable("gone"))
    assert gate.is_shut


async def test_no_more_calls_than_its_width_are_in_flight_and_they_pass_in_order() -> None:
    gate, passed = Gate(2), []

    async def call(number: int) -> None:
        await gate.enter()
        passed.append(number)

    calls = [asyncio.create_task(call(number)) for number in range(5)]
    await turns()
    assert (passed, gate.in_flight) == ([0, 1], 2)
    for _ in range(3):
        gate.answered()
        await turns()
        assert gate.in_flight == 2
    assert passed == [0, 1, 2, 3, 4]
    await asyncio.gather(*calls)


async def test_one_that_gave_up_waiting_takes_no_place() -> None:
    gate = Gate(1)
    await gate.enter()
    waiting = [asyncio.create_task(gate.enter()) for _ in range(2)]
    await turns()
    waiting[0].cancel()
    gate.answered()
    assert isinstance(await waiting[1], Permit)
    assert gate.in_flight == 1


async def test_one_that_is_cancelled_as_it_is_let_in_gives_its_place_back() -> None:
    gate = Gate(1)
    await gate.enter()
    waiting = asyncio.create_task(gate.enter())
    await turns()
    gate.answered()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert gate.in_flight == 0


async def test_a_refusal_for_being_too_many_leaves_fewer_places_but_never_shuts_the_gate() -> None:
    gate = Gate(10, Clock())
    passages = [await gate.enter() for _ in range(10)]
    for permit in passages:
        gate.failed(permit, Throttled("slower"))
    assert gate.width == 5
    for _ in range(3 * FAILURES):
        gate.failed(await gate.enter(), Throttled("slower"))
    assert not gate.is_shut


async def test_while_the_endpoint_is_gone_one_call_at_a_time_finds_out_and_all_wait() -> None:
    clock = Clock()
    gate = Gate(10, clock)
    await shut(gate)
    waiting = [asyncio.create_task(gate.enter()) for _ in range(5)]
    await turns()
    assert gate.in_flight == 0
    clock.now = 60.0
    probe = await waiting[0]
    await turns()
    assert probe.probe
    assert gate.in_flight == 1
    gate.answered()
    await asyncio.gather(*waiting)
    assert gate.in_flight == 4
    assert not gate.is_shut


async def test_a_call_that_was_to_find_out_and_was_cancelled_leaves_it_to_the_next() -> None:
    clock = Clock()
    gate = Gate(10, clock)
    await shut(gate)
    clock.now = 60.0
    gate.abandon(await gate.enter())
    assert (await gate.enter()).probe
