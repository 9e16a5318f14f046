"""The client that users import: what it gives back, what it outlasts, and what it says of what is refused."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from itertools import pairwise
from typing import TypeVar

import pytest
from prometheus_client import REGISTRY

from soliloquy.client import AsyncRuns, InvalidRequest, NotFound, ServiceUnavailable, state_of
from soliloquy.v1.gateway_pb2 import FinishedConversation, RunStatus
from tests.integration.gateway.served import ARITHMETIC, served
from tests.integration.gateway.support import Collecting, growing
from tests.integration.transport.support import Connect
from tests.waiting import until

T = TypeVar("T")

NOBODY = "127.0.0.1:1"


async def test_a_run_is_followed_to_its_end_and_its_conversations_read(address: str) -> None:
    async with AsyncRuns(address) as runs:
        run = await runs.start(**ARITHMETIC)
        told = [status async for status in runs.watch(run.id)]
        found = [finished async for finished in runs.conversations(run.id, verdict="accepted")]
        assert (await runs.get(run.id)).progress == told[-1].progress
    assert state_of(told[-1]) == "finished"
    assert [status.progress.accepted for status in told] == sorted(status.progress.accepted for status in told)
    assert all(one != other for one, other in pairwise(told))
    assert len({finished.id for finished in found}) == told[-1].progress.accepted == 6


async def test_a_request_id_is_made_for_each_call_and_one_that_is_given_is_kept(address: str) -> None:
    async with AsyncRuns(address) as runs:
        made = [await runs.start(**ARITHMETIC) for _ in range(2)]
        given = [await runs.start(**ARITHMETIC, request_id="mine") for _ in range(2)]
        listed = [status.id async for status in runs.list()]
    assert len({run.id for run in made}) == 2
    assert len({run.id for run in given}) == 1
    assert set(listed) == {run.id for run in (*made, *given)}
    assert len(listed) == 3


async def test_lists_of_any_length_are_read_page_by_page(address: str) -> None:
    async with AsyncRuns(address) as runs:
        run = await runs.start(problems="arithmetic", conversations=230)
        assert [state_of(status) async for status in runs.watch(run.id)][-1] == "finished"
        found = [finished async for finished in runs.conversations(run.id)]
    assert len({finished.id for finished in found}) == len(found) == 230


async def test_watchers_outlast_a_gateway_that_comes_back(connect: Connect) -> None:
    """Nothing is told twice, nothing of a tail is left out, and a run that is started meanwhile is one run."""
    collecting = Collecting()
    told: list[RunStatus] = []
    tailed: list[FinishedConversation] = []

    async def keep(items: AsyncGenerator[T, None], kept: list[T]) -> None:
        async with aclosing(items):
            async for item in items:
                kept.append(item)  # noqa: PERF401 - it is looked at while it grows

    async with connect() as transport, growing(transport, collecting), AsyncExitStack() as clients:
        async with served(transport) as address:
            runs = await clients.enter_async_context(AsyncRuns(address))
            run = (await runs.start(problems="arithmetic", conversations=400, in_flight=4)).id
            watching = asyncio.create_task(keep(runs.watch(run), told))
            tailing = asyncio.create_task(keep(runs.tail(run), tailed))
            await until(lambda: len(tailed) > 20)
            collecting.open.clear()
        other = asyncio.create_task(runs.start(**ARITHMETIC))
        before = len(collecting.seen)
        collecting.open.set()
        await until(lambda: len(collecting.seen) > before)
        async with served(transport, address=address):
            assert {(await other).id, run} == {status.id async for status in runs.list()}
            await watching
            every = [each async for each in runs.conversations(run)]
            since = [each for each in every if each.finished_at > tailed[0].finished_at]
            await until(lambda: {each.id for each in since} <= {each.id for each in tailed})
            tailing.cancel()
    assert (state_of(told[-1]), told[-1].progress.accepted) == ("finished", 400)
    assert all(one != other for one, other in pairwise(told))
    assert len({each.id for each in tailed}) == len(tailed)
    assert len(since) > 300


async def test_a_tail_that_is_read_too_slowly_leaves_nothing_out(
    connect: Connect, collecting: Collecting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy_services.gateway.watching.MOST_KEPT", 1)
    collecting.open.clear()
    async with (
        connect() as transport,
        growing(transport, collecting),
        served(transport) as address,
        AsyncRuns(address) as runs,
    ):
        run = (await runs.start(problems="arithmetic", conversations=60, in_flight=8)).id
        tail = runs.tail(run)
        first = asyncio.ensure_future(anext(tail))
        await until(lambda: REGISTRY.get_sample_value("soliloquy_gateway_watchers") == 1)
        collecting.open.set()
        [*_] = [status async for status in runs.watch(run)]
        tailed = [await first]
        async with asyncio.timeout(120), aclosing(tail):
            while len(tailed) < 60:
                tailed.append(await anext(tail))
        every = {each.id async for each in runs.conversations(run)}
    assert {each.id for each in tailed} == every
    assert len(tailed) == len(every) == 60


async def test_what_is_unknown_refused_or_away_is_said_in_a_sentence(address: str) -> None:
    async with AsyncRuns(address) as runs:
        with pytest.raises(NotFound, match=r"^there is no run 'no-such': list the runs"):
            await runs.get("no-such")
        with pytest.raises(NotFound, match="there is no run"):
            await anext(runs.watch("no-such"))
        with pytest.raises(NotFound, match="no dead letter has the id 'no-such'"):
            await runs.replay("no-such")
        with pytest.raises(InvalidRequest, match="invalid recipe 'latin': use one of"):
            await runs.start(**ARITHMETIC, recipe="latin")
        await runs.start(**ARITHMETIC, request_id="taken")
        with pytest.raises(InvalidRequest, match="with other settings"):
            await runs.start(**ARITHMETIC, seed=2, request_id="taken")
    async with AsyncRuns(NOBODY, deadline_seconds=1.0) as runs:
        with pytest.raises(
            ServiceUnavailable,
            match=f"^no answer from the gateway at {NOBODY}: .*: start it, or name the address where it runs$",
        ):
            await runs.get("any")
        with pytest.raises(ServiceUnavailable):
            await anext(runs.watch("any"))
