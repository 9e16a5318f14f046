"""The transport's benchmark counts what went through its stages, and times it from when it was due."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from benchmarks import stage_load, transport
from benchmarks.transports import Client, connected
from soliloquy.runtime.events import Event


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


async def test_what_is_published_late_counts_from_when_it_was_due(client: Client) -> None:
    delay, measured = 0.05, 0

    async def late(events: Sequence[Event]) -> None:
        nonlocal measured
        if len(events) == 1:
            measured += 1
            await asyncio.sleep(delay)
        await client.publish(events)

    figures = await stage_load.paced(replace(client, publish=late), rate=100, seconds=0.2)
    assert measured == 20
    assert figures["p99_ms"] >= figures["p50_ms"] > 1000 * delay


async def test_a_lasting_load_tells_what_memory_and_file_came_to(client: Client) -> None:
    figures = await stage_load.lasting(client, batches=2)
    assert client.file is not None
    assert figures["file_mib"] == client.file.stat().st_size / 1024**2 > 0
    assert 0.5 < figures["rss_growth"] < 2


async def test_the_embedded_log_is_measured_without_a_bare_client_beside_it() -> None:
    figures = await transport.measure(None, rounds=2, part=0.05, tell=lambda _: None)
    found = figures["embedded"]
    assert set(found["one_stage"]) == set(found["two_stages"]) == {"ours"}
    assert found["one_stage"]["ours"]["events_per_second"]["median"] > 0
    assert {target["figure"].split(".")[1] for target in figures["targets"]} == {"one_stage", "two_stages", "lasting"}
