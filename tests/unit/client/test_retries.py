"""Which errors a client retries, when, and for how long."""

import asyncio

import grpc
import pytest

from soliloquy.client.calls import JobRefused, RetryBudget, ServiceUnavailable


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
