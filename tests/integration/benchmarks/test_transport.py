"""The transport's benchmark counts what went through its stages, and times it from when it was due."""

from collections.abc import AsyncIterator

import pytest

from benchmarks import stage_load
from benchmarks.transports import Client, connected


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with connected(None) as clients:
        yield clients["ours"]


async def test_a_saturated_stage_takes_every_event_once_round_after_round(client: Client) -> None:
    for _ in range(2):
        figures = await stage_load.saturated(client, batches=1)
        assert 0 < figures["events_per_second"] < 1_000_000
        assert 0 < figures["events_per_cpu_second"] < 1_000_000
    assert next(client.numbers) == 2 * stage_load.BATCH
