"""Calls pass in order, as many as the endpoint takes, and wait while it is gone."""

import asyncio
from email.utils import formatdate

import pytest

from soliloquy.runtime.model.faults import Throttled, Unreachable
from soliloquy.runtime.model.gate import (
    FAILURES,
    PAUSE_CAP_SECONDS,
    PAUSE_SECONDS,
    ROUND_SECONDS,
    Breaker,
    ConcurrencyLimit,
    Gate,
    Permit,
)
from soliloquy.runtime.model.openai_format import MOST_SECONDS, retry_after
from tests.cases import each_case


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
    gate, passed = Gate("far", 2), []

    permits: list[Permit] = []

    async def call(number: int) -> None:
        permits.append(await gate.enter())
        passed.append(number)

    calls = [asyncio.create_task(call(number)) for number in range(5)]
    await turns()
    assert (passed, gate.in_flight) == ([0, 1], 2)
    for _ in range(3):
        gate.answered(permits.pop())
        await turns()
        assert gate.in_flight == 2
    assert passed == [0, 1, 2, 3, 4]
    await asyncio.gather(*calls)


async def test_one_that_gave_up_waiting_takes_no_place() -> None:
    gate = Gate("far", 1)
    permit = await gate.enter()
    waiting = [asyncio.create_task(gate.enter()) for _ in range(2)]
    await turns()
    waiting[0].cancel()
    gate.answered(permit)
    assert isinstance(await waiting[1], Permit)
    assert gate.in_flight == 1


async def test_one_that_is_cancelled_as_it_is_let_in_gives_its_place_back() -> None:
    gate = Gate("far", 1)
    permit = await gate.enter()
    waiting = asyncio.create_task(gate.enter())
    await turns()
    gate.answered(permit)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert gate.in_flight == 0


async def test_a_refusal_for_being_too_many_leaves_fewer_places_but_never_shuts_the_gate() -> None:
    gate = Gate("far", 10, Clock())
    passages = [await gate.enter() for _ in range(10)]
    for permit in passages:
        gate.failed(permit, Throttled("slower"))
    assert gate.width == 5
    for _ in range(3 * FAILURES):
        gate.failed(await gate.enter(), Throttled("slower"))
    assert not gate.is_shut


async def test_while_the_endpoint_is_gone_one_call_at_a_time_finds_out_and_all_wait() -> None:
    clock = Clock()
    gate = Gate("far", 10, clock)
    await shut(gate)
    waiting = [asyncio.create_task(gate.enter()) for _ in range(5)]
    await turns()
    assert gate.in_flight == 0
    clock.now = 60.0
    probe = await waiting[0]
    await turns()
    assert probe.probe
    assert gate.in_flight == 1
    gate.answered(probe)
    await asyncio.gather(*waiting)
    assert gate.in_flight == 4
    assert not gate.is_shut


async def test_a_call_that_was_to_find_out_and_was_cancelled_leaves_it_to_the_next() -> None:
    clock = Clock()
    gate = Gate("far", 10, clock)
    await shut(gate)
    clock.now = 60.0
    gate.abandon(await gate.enter())
    assert (await gate.enter()).probe


def opened(now: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(FAILURES):
        breaker.failed(now, probe=False)
    return breaker


def test_an_answer_between_failures_keeps_it_closed() -> None:
    breaker = Breaker()
    for _ in range(3 * FAILURES):
        breaker.failed(0.0, probe=False)
        if not breaker.is_open:
            breaker.succeeded()
    assert not breaker.is_open


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


def refused(limit: ConcurrencyLimit, now: float, *, calls: int = 1, of: int = 1) -> None:
    """So many refusals of so many calls, all at a moment at which the width is used up."""
    for _ in range(of - calls):
        limit.answered()
    for _ in range(calls):
        limit.throttled(in_flight=limit.width(now), now=now)


def stormy(limit: ConcurrencyLimit, share: float, seconds: int) -> int:
    """The width after so many seconds in which that share of a hundred calls a second is refused."""
    for second in range(1, seconds + 1):
        refused(limit, second * ROUND_SECONDS, calls=round(100 * share), of=100)
    return limit.width(seconds * ROUND_SECONDS)


def test_the_cut_is_half_the_share_that_was_refused() -> None:
    limit = ConcurrencyLimit(100)
    refused(limit, 1.0, calls=1, of=1_000)
    refused(limit, 1.5, calls=20, of=99)
    refused(limit, 2.0, calls=1, of=6)
    # Twenty-one refusals of a hundred and five calls since the cut before.
    assert limit.width(2.0) == 90


def test_refusals_of_one_round_cut_once() -> None:
    limit = ConcurrencyLimit(100)
    for moment in range(10):
        limit.throttled(in_flight=100, now=moment * ROUND_SECONDS / 10)
    assert limit.width(0.0) == 50


def test_a_cut_is_of_what_was_in_flight_and_not_of_what_might_have_been() -> None:
    limit = ConcurrencyLimit(256)
    limit.throttled(in_flight=10, now=0.0)
    assert limit.width(0.0) == 5


def test_one_call_is_always_left() -> None:
    assert stormy(ConcurrencyLimit(2), 1.0, 20) == 1


def test_the_width_comes_back_and_stays_a_while_where_it_was_cut() -> None:
    limit = ConcurrencyLimit(200)
    limit.throttled(in_flight=50, now=0.0)
    widths = [limit.width(tenth / 10) for tenth in range(200)]
    assert widths == sorted(widths)
    assert widths[0] == 25
    near = sum(abs(width - 50) <= 2 for width in widths)
    assert near / 10 > 1.0
    assert widths[-1] == 200


@pytest.mark.parametrize(("share", "least", "most"), [(0.05, 150, 256), (0.5, 20, 80), (1.0, 1, 40)])
def test_in_a_lasting_storm_it_settles_by_how_strong_that_is(share: float, least: int, most: int) -> None:
    assert least <= stormy(ConcurrencyLimit(256), share, 60) <= most


def test_after_any_storm_256_calls_are_back_within_six_seconds() -> None:
    limit = ConcurrencyLimit(256)
    stormy(limit, 1.0, 60)
    assert limit.width(60 * ROUND_SECONDS + 6.0) == 256


NOW = 1_700_000_000.0


@each_case
def test_seconds_and_dates_are_honoured_and_nonsense_is_nothing(
    told: str | None, date: int | None, seconds: float | None
) -> None:
    """Without seconds the server asks for more than a call waits."""
    header = told if told is not None else formatdate(NOW + (date or 0), usegmt=True)
    assert retry_after({"Retry-After": header}, NOW) == (MOST_SECONDS if seconds is None else seconds)
