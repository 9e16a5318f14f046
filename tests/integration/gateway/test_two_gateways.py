"""Of several gateways on one database any answers and one drives: no conversation is lost or made twice."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, closing
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import update

from soliloquy.runtime.events import Event
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.runtime.transports.port import Unanswered
from soliloquy.v1.events_pb2 import RunChanged
from soliloquy.v1.gateway_pb2 import (
    CancelRunRequest,
    FinishedConversation,
    GetRunRequest,
    PauseRunRequest,
    ResumeRunRequest,
    RunStatus,
    TailConversationsRequest,
)
from soliloquy.v1.runs_pb2 import RunState
from soliloquy_services.gateway.lease import LEASE_SECONDS
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings
from soliloquy_services.gateway.store import Store
from tests.integration.gateway.contract import CANCELLED, FINISHED, PAUSED, RUNNING, last_of
from tests.integration.gateway.process import GatewayProcess
from tests.integration.gateway.support import Collecting, asked, growing, opened, status_of
from tests.lakehouse.postgres import Postgres
from tests.waiting import until

CONVERSATIONS = 300
KILLED_AT = 60


async def test_a_run_that_one_was_asked_for_is_driven_by_the_other_and_both_show_it(
    settings: GatewaySettings, tmp_path: Path
) -> None:
    collecting = Collecting()
    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(EmbeddedTransport(tmp_path / "log.sqlite"))
        await stack.enter_async_context(growing(transport, collecting))
        leading, other = [await stack.enter_async_context(opened(transport, settings)) for _ in range(2)]
        collecting.open.clear()
        run = await other.start_run(asked(conversations=40))
        tail = await stack.enter_async_context(aclosing(other.tail_conversations(TailConversationsRequest(run=run.id))))
        first = asyncio.create_task(anext(tail))
        collecting.open.set()
        assert {(await last_of(gateway, run.id)).state for gateway in (leading, other)} == {FINISHED}
        told = [await first, *[await anext(tail) for _ in range(39)]]
    assert sorted(one.ordinal for one in told if isinstance(one, FinishedConversation)) == list(range(40))
    assert sorted(collecting.seen) == [(ordinal, 0) for ordinal in range(40)]


async def test_either_pauses_resumes_and_cancels_and_a_second_request_is_a_repeat(
    settings: GatewaySettings, tmp_path: Path
) -> None:
    collecting = Collecting()
    collecting.open.clear()
    async with (
        EmbeddedTransport(tmp_path / "log.sqlite") as transport,
        growing(transport, collecting),
        opened(transport, settings) as leading,
        opened(transport, settings) as other,
    ):
        begun = await asyncio.gather(*[one.begin_run(asked(conversations=40)) for one in (leading, other)])
        assert sorted(is_new for _, is_new in begun) == [False, True]
        [run] = {status.id for status, _ in begun}
        await other.pause_run(PauseRunRequest(run=run))
        await until(partial(is_in, PAUSED, leading, run))
        for _ in range(5):
            resumed, paused = leading.resume_run(ResumeRunRequest(run=run)), other.pause_run(PauseRunRequest(run=run))
            await asyncio.gather(resumed, paused)
        await other.cancel_run(CancelRunRequest(run=run))
        for gateway in (leading, other):
            await until(partial(is_in, CANCELLED, gateway, run))


async def is_in(state: RunState, gateway: Gateway, run_id: str) -> bool:
    return (await status_of(gateway, run_id)).state == state


class Mute(EmbeddedTransport):
    """Publishes no change of a run."""

    async def publish(self, events: Sequence[Event]) -> None:
        if any(event.topic == TOPIC_OF[RunChanged].name for event in events):
            raise Unanswered("it is away")
        await super().publish(events)


async def test_a_change_that_one_could_not_publish_is_published_by_the_other(tmp_path: Path) -> None:
    settings, collecting = GatewaySettings(database=f"sqlite:///{tmp_path}/state.db"), Collecting()
    async with EmbeddedTransport(tmp_path / "log.sqlite") as transport, Mute(tmp_path / "log.sqlite") as mute:
        async with (
            growing(transport, collecting),
            opened(transport, settings) as leading,
            opened(mute, settings) as other,
        ):
            with pytest.raises(Unanswered):
                await other.start_run(asked())
            repeated, is_new = await other.begin_run(asked())
            assert not is_new
            assert (await last_of(leading, repeated.id)).state == FINISHED
        # Another database learns of it from the topic.
        async with opened(transport) as later:
            assert (await status_of(later, repeated.id)).state == FINISHED


async def test_one_that_ends_leaves_no_gap(settings: GatewaySettings, tmp_path: Path) -> None:
    collecting = Collecting()
    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(EmbeddedTransport(tmp_path / "log.sqlite"))
        await stack.enter_async_context(growing(transport, collecting))
        async with opened(transport, settings):
            other = await stack.enter_async_context(opened(transport, settings))
        began = time.monotonic()
        run = await other.start_run(asked())
        assert (await last_of(other, run.id)).state == FINISHED
        assert time.monotonic() - began < LEASE_SECONDS


def test_a_clock_that_was_set_back_keeps_nobody_from_a_lease_that_is_over(settings: GatewaySettings) -> None:
    with closing(Store(settings.database)) as gone, closing(Store(settings.database)) as there:
        gone.open()
        there.open()
        assert gone.lease.take()
        assert not there.lease.take()
        with gone.database.writing() as connection:
            an_hour_later = gone.database.now(connection) + 3_600
            connection.execute(update(gone.database["lease"]).values(until=an_hour_later))
        assert there.lease.take()
        assert not gone.lease.take()


async def is_finished(process: GatewayProcess, run_id: str) -> bool:
    return (await shown(process, run_id)).state == FINISHED


async def shown(process: GatewayProcess, run_id: str) -> RunStatus:
    async with process.called() as calls:
        return await calls.GetRun(GetRunRequest(run=run_id), timeout=20)


@pytest.fixture
def processes(postgres: Postgres, tmp_path: Path) -> Iterator[list[GatewayProcess]]:
    """Two, of which the first drives."""
    log, database = str(tmp_path / "log.sqlite"), postgres.database()
    asyncio.run(made(log))
    two = [GatewayProcess(log, database)]
    asyncio.run(answers(two[0]))
    two.append(GatewayProcess(log, database))
    asyncio.run(answers(two[1]))
    yield two
    for process in two:
        process.kill()


async def made(log: str) -> None:
    async with EmbeddedTransport(Path(log)):
        pass


async def answers(process: GatewayProcess) -> None:
    async with process.called():
        pass


@pytest.mark.parametrize("is_killed", [True, pytest.param(False, marks=pytest.mark.thorough)], ids=["killed", "paused"])
async def test_another_goes_on_within_ten_seconds_and_makes_no_conversation_twice(
    processes: list[GatewayProcess], tmp_path: Path, is_killed: bool
) -> None:
    leading, other = processes
    collecting = Collecting()
    async with EmbeddedTransport(tmp_path / "log.sqlite") as transport, growing(transport, collecting):
        async with other.called() as calls:
            run = (await calls.StartRun(asked(conversations=CONVERSATIONS), timeout=20)).id
            await until(lambda: len(collecting.seen) >= KILLED_AT)
            leading.kill() if is_killed else leading.pause()
            began, gap = time.monotonic(), 0.0
            last, last_seen = began, len(collecting.seen)
            status = await calls.GetRun(GetRunRequest(run=run), timeout=20)
            while status.state == RUNNING:
                await asyncio.sleep(0.05)
                if len(collecting.seen) > last_seen:
                    gap = max(gap, time.monotonic() - last)
                    last, last_seen = time.monotonic(), len(collecting.seen)
                status = await calls.GetRun(GetRunRequest(run=run), timeout=20)
            assert gap <= 10
            assert (status.state, status.progress.accepted) == (FINISHED, CONVERSATIONS)
            if is_killed:
                leading.start()
            else:
                leading.go_on()
        await until(partial(is_finished, leading, run))
        async with leading.called() as calls:
            again = (await calls.StartRun(asked("again"), timeout=20)).id
        await until(partial(is_finished, leading, again))
    assert sorted(collecting.seen) == sorted(
        [(ordinal, 0) for ordinal in range(CONVERSATIONS)] + [(ordinal, 0) for ordinal in range(6)]
    )
