"""A run is over when its dataset holds all its conversations, and until then it is steered like any other."""

import time
from contextlib import aclosing

import pytest

from soliloquy.runs.description import described
from soliloquy.runs.model import ModelSettings
from soliloquy.runtime.events import first_event
from soliloquy.runtime.handling import Service
from soliloquy.v1.gateway_pb2 import (
    CancelRunRequest,
    DatasetState,
    PauseRunRequest,
    ResumeRunRequest,
    RunStatus,
    WatchRunRequest,
)
from soliloquy.v1.runs_pb2 import RunState
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.steering import LAST_WRITTEN
from tests.integration.gateway.contract import last_of
from tests.integration.gateway.support import Collecting, asked, growing, opened
from tests.integration.transport.support import Connect

RUNNING, PAUSED = RunState.RUN_STATE_RUNNING, RunState.RUN_STATE_PAUSED
CANCELLED, FINISHED = RunState.RUN_STATE_CANCELLED, RunState.RUN_STATE_FINISHED
WRITING, WRITTEN = DatasetState.DATASET_STATE_WRITING, DatasetState.DATASET_STATE_WRITTEN


@pytest.fixture
def collecting() -> Collecting:
    """Everything but the end of the dataset."""
    made = Collecting()
    made.stored.clear()
    return made


async def nearly_over(gateway: Gateway, run: str) -> tuple[RunState, DatasetState]:
    """How a run stands of which nothing is missing but the end of its dataset."""
    async with aclosing(gateway.watch_run(WatchRunRequest(run=run))) as statuses:
        async for status in statuses:
            if status.because == LAST_WRITTEN:
                return status.state, status.dataset
    raise AssertionError(f"the run is over, and its dataset was not waited for: {status}")


def ended(last: RunStatus) -> tuple[RunState, DatasetState, str]:
    return last.state, last.dataset, last.because


async def test_a_run_says_at_its_start_which_services_differ_from_what_it_was_told(
    connect: Connect, collecting: Collecting
) -> None:
    other = ModelSettings(noise="real")
    services = [described(Service(name=name), other) for name in ("student", "tutor", "collector")]
    descriptions = [one.description for one in services if one.description]
    async with connect() as transport, growing(transport, collecting), opened(transport) as gateway:
        first = await gateway.start_run(asked("first"))
        await transport.publish([first_event(one, source="test", time=time.time()) for one in descriptions])
        second = await gateway.start_run(asked("second"))
    differ = "services differ from what the gateway was told: student, tutor: noise real, not none"
    assert (first.because, second.because) == ("", differ)


async def test_a_run_is_finished_when_its_dataset_is_written_and_a_pause_changes_nothing(
    connect: Connect, collecting: Collecting
) -> None:
    async with connect() as transport, growing(transport, collecting), opened(transport) as gateway:
        run = await gateway.start_run(asked())
        assert await nearly_over(gateway, run.id) == (RUNNING, WRITING)
        await gateway.pause_run(PauseRunRequest(run=run.id))
        assert await nearly_over(gateway, run.id) == (PAUSED, WRITING)
        await gateway.resume_run(ResumeRunRequest(run=run.id))
        assert await nearly_over(gateway, run.id) == (RUNNING, WRITING)
        collecting.stored.set()
        assert ended(await last_of(gateway, run.id)) == (FINISHED, WRITTEN, "")


async def test_a_gateway_that_comes_while_a_dataset_is_written_ends_the_run(
    connect: Connect, collecting: Collecting
) -> None:
    async with connect() as transport, growing(transport, collecting):
        async with opened(transport) as gateway:
            run = await gateway.start_run(asked())
            await nearly_over(gateway, run.id)
        collecting.stored.set()
        async with opened(transport) as gateway:
            assert ended(await last_of(gateway, run.id)) == (FINISHED, WRITTEN, "")


async def test_a_run_that_is_cancelled_while_its_dataset_is_written_stays_cancelled(
    connect: Connect, collecting: Collecting
) -> None:
    async with connect() as transport, growing(transport, collecting), opened(transport) as gateway:
        run = await gateway.start_run(asked())
        await nearly_over(gateway, run.id)
        cancelled = await gateway.cancel_run(CancelRunRequest(run=run.id))
        assert (cancelled.state, cancelled.dataset) == (CANCELLED, WRITING)
        collecting.stored.set()
        assert ended(await last_of(gateway, run.id)) == (CANCELLED, WRITTEN, "")
