"""Checks that values leave the sandbox as the objects they were."""

import asyncio
import math
from collections.abc import AsyncIterator

import grpc
import pytest

from soliloquy.client.async_runs import SeenConversations
from soliloquy.client.calls import JobRefused, RetryBudget, ServiceUnavailable
from soliloquy.runtime.values import Unserialisable, python_value
from soliloquy.v1.gateway_pb2 import FinishedConversation
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


def finished(number: int) -> FinishedConversation:
    """One a second."""
    return FinishedConversation(id=str(number), finished_at=1_000.0 + number)


async def listed(numbers: range) -> AsyncIterator[FinishedConversation]:
    """The latest first, as a gateway lists them."""
    for number in reversed(numbers):
        yield finished(number)


async def missed(seen: SeenConversations, numbers: range) -> list[int]:
    return [int(each.id) for each in await seen.missed(listed(numbers))]


async def test_a_conversation_from_before_the_tail_is_never_yielded() -> None:
    seen = SeenConversations()
    await seen.begin(listed(range(100)))
    assert await missed(seen, range(103)) == [100, 101, 102]


async def test_a_conversation_that_finishes_meanwhile_is_yielded_once_and_in_order() -> None:
    seen = SeenConversations()
    await seen.begin(listed(range(10)))
    assert [seen.is_unseen(finished(number)) for number in (10, 11, 12, 11)] == [True, True, True, False]
    assert await missed(seen, range(300)) == list(range(13, 300))
    assert not seen.is_unseen(finished(299))
    assert seen.is_unseen(finished(300))


async def test_no_conversation_is_yielded_twice_however_many_finish_in_a_minute() -> None:
    seen = SeenConversations()
    burst = [FinishedConversation(id=str(number), finished_at=1_000.0 + number / 1_000) for number in range(30_000)]
    assert all(map(seen.is_unseen, burst))

    async def again() -> AsyncIterator[FinishedConversation]:
        for each in reversed(burst):
            yield each

    assert await seen.missed(again()) == []


async def test_a_tail_of_a_run_that_had_nothing_misses_nothing() -> None:
    seen = SeenConversations()
    await seen.begin(listed(range(0)))
    assert await missed(seen, range(200)) == list(range(200))


def failure(code: grpc.StatusCode, details: str = "why", **metadata: str) -> grpc.aio.AioRpcError:
    trailing = grpc.aio.Metadata(*((name.replace("_", "-"), value) for name, value in metadata.items()))
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details=details)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Records the pauses instead of making them."""
    made: list[float] = []

    async def pause(seconds: float) -> None:
        made.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", pause)
    return made


async def test_the_pauses_before_a_service_that_is_away_grow_and_differ(pauses: list[float]) -> None:
    budget = RetryBudget("the service at here:1", 60.0)
    for _ in range(12):
        await budget.wait(failure(grpc.StatusCode.UNAVAILABLE))
    for number, pause in enumerate(pauses):
        whole = min(2.0, 0.05 * 2**number)
        assert whole / 2 <= pause <= whole
    assert len({pause / 2.0 for pause in pauses[-6:]}) > 1


async def test_an_answer_makes_the_next_pause_short_again(pauses: list[float]) -> None:
    budget = RetryBudget("the service at here:1", 60.0)
    for _ in range(8):
        await budget.wait(failure(grpc.StatusCode.UNAVAILABLE))
    budget.reset()
    await budget.wait(failure(grpc.StatusCode.UNAVAILABLE))
    assert pauses[-1] <= 0.05


async def test_a_busy_service_is_left_alone_for_as_long_as_it_says(pauses: list[float]) -> None:
    budget = RetryBudget("the service at here:1", 60.0)
    await budget.wait(failure(grpc.StatusCode.RESOURCE_EXHAUSTED, grpc_retry_pushback_ms="700"))
    assert pauses == [0.7]


@pytest.mark.parametrize("code", [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED])
async def test_a_job_that_can_never_run_is_not_retried(pauses: list[float], code: grpc.StatusCode) -> None:
    with pytest.raises(JobRefused, match=r"^why$"):
        await RetryBudget("the service at here:1", 60.0).wait(failure(code))
    assert pauses == []


@pytest.mark.parametrize("code", [grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAUTHENTICATED])
async def test_a_permanent_error_is_raised_at_once(pauses: list[float], code: grpc.StatusCode) -> None:
    with pytest.raises(ServiceUnavailable, match=rf"here:1: why \({code.name}\)"):
        await RetryBudget("the service at here:1", 60.0).wait(failure(code))
    assert pauses == []


async def test_a_pause_that_would_outlast_the_deadline_is_not_made(pauses: list[float]) -> None:
    with pytest.raises(ServiceUnavailable, match="UNAVAILABLE"):
        await RetryBudget("the service at here:1", 0.01).wait(failure(grpc.StatusCode.UNAVAILABLE))
    assert pauses == []


async def test_a_last_try_that_ran_out_of_time_does_not_hide_why_the_others_failed(pauses: list[float]) -> None:
    budget = RetryBudget("the service at here:1", 60.0)
    await budget.wait(failure(grpc.StatusCode.UNAVAILABLE))
    with pytest.raises(ServiceUnavailable, match=r"here:1: why \(UNAVAILABLE\)"):
        await budget.wait(failure(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded"))
    with pytest.raises(ServiceUnavailable, match=r"here:1: too late \(DEADLINE_EXCEEDED\)"):
        await RetryBudget("the service at here:1", 60.0).wait(failure(grpc.StatusCode.DEADLINE_EXCEEDED, "too late"))
