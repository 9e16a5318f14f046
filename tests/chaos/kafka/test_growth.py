"""Gives the topics of conversations more partitions under load: nothing is lost, and nothing is repeated."""

import asyncio
from pathlib import Path

import pytest

from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply
from soliloquy.runtime.transports.kafka.transport import KafkaTransport
from tests.chaos.kafka.conftest import Undisturbed
from tests.chaos.kafka.history import history
from tests.chaos.kafka.installation import Installation
from tests.chaos.kafka.run import Run
from tests.e2e.runs import dataset

CONVERSATIONS = 300
IN_FLIGHT = 32
LATENCY = "100ms"
BEFORE, AFTER = 12, 24


async def ends(settings: KafkaSettings, topic: str) -> dict[int, int]:
    async with KafkaTransport(settings) as transport:
        return await transport.ends(topic)


@pytest.mark.timeout(600)
def test_twice_the_partitions_in_the_middle_of_a_run_change_nothing_in_its_dataset(
    kafka: str, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    with (
        Installation(tmp_path, kafka, "--latency", LATENCY, scales={"student": 2, "composer": 2}) as installation,
        Run(installation, tmp_path / "out", conversations=CONVERSATIONS, in_flight=IN_FLIGHT) as run,
    ):
        run.reach(CONVERSATIONS // 10)
        changes = asyncio.run(apply(installation.settings, replication=1, partitions=AFTER))
        assert {change.action for change in changes} == {"grow"}
        assert run.collected < CONVERSATIONS // 2
        run.finish()
        assert dataset(run.out) == undisturbed(CONVERSATIONS)
        assert len(installation.collected()) == len(set(installation.collected()))
        found = history(installation.settings)
        used = asyncio.run(ends(installation.settings, "student.replied"))
        runs = asyncio.run(ends(installation.settings, "problem.submitted"))
    assert all(used[number] for number in range(AFTER))
    assert len(runs) == BEFORE
    assert found.repeats.total() == 0
