"""Kafka keeps the contract, and the promises of a broker between processes."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest
from prometheus_client import REGISTRY

from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.transports.kafka import KafkaUnavailable
from soliloquy.runtime.transports.kafka.transport import KafkaTransport
from soliloquy.v1 import events_pb2
from tests.integration.transport.contract import TransportContract
from tests.integration.transport.kafka import PARTITIONS, fresh_address
from tests.integration.transport.kafka import connect as open_kafka
from tests.integration.transport.kafka import settings as settings_of
from tests.integration.transport.recovery import RecoveryContract
from tests.integration.transport.runs import RunsContract
from tests.integration.transport.support import Connect, held, idle, ordinals, reply, serving, started, student
from tests.waiting import until

Started = events_pb2.ConversationStarted


@pytest.fixture
async def address(kafka: str) -> str:
    return await fresh_address(kafka)


@pytest.fixture
def adapter() -> str:
    return "tests.integration.transport.kafka"


@pytest.fixture
def connect(address: str) -> Connect:
    return partial(open_kafka, address)


class TestKafka(TransportContract):
    pass


class TestKafkaRuns(RunsContract):
    pass


class TestKafkaRecovery(RecoveryContract):
    # The 16 that a worker runs at once, as many with published outputs and uncommitted positions, and as many that a
    # stopped worker starts before it learns that the group went on without it.
    repeats_after_a_kill = 48

    async def test_what_a_crash_repeats_is_known_after_a_restart(self, connect: Connect) -> None:
        handled: list[str] = []

        async def work(message: Started) -> Outcome:
            handled.append(message.conversation.id)
            return await reply(message)

        events = [started(f"c{number}") for number in range(40)]
        async with connect() as transport:
            for _ in range(2):
                await transport.publish(events)
                # A fresh stage remembers only what the log tells it.
                async with serving(student(work), transport):
                    await until(lambda: idle(transport))
            assert len(await held(transport, "student.replied")) == 40
        assert len(handled) == 40


async def test_nothing_is_published_beside_an_event_whose_time_no_header_can_say(connect: Connect) -> None:
    async with connect() as transport:
        with pytest.raises((OverflowError, ValueError)):
            await transport.publish([started("c"), replace(started("d"), time=1e300)])
        assert not await held(transport, "conversation.started")


async def test_a_missing_topic_ends_publishing_with_the_command_that_makes_it(address: str) -> None:
    # Shortens the search for the topic to five seconds.
    settings = replace(settings_of(address), rebalance_seconds=0.0)
    event = replace(started("c"), topic="calculation.needed")
    async with KafkaTransport(settings) as transport:
        with pytest.raises(KafkaUnavailable) as caught:
            async with asyncio.timeout(3 * settings.request_seconds):
                await transport.publish([event, replace(event, key="d", id="d")])
        await transport.publish([started("e")])
        assert len(await held(transport, "conversation.started")) == 1
    assert str(caught.value) == (
        f"{settings.bootstrap} lacks the topic {settings.prefix}calculation.needed: "
        f"run `soliloquy topics apply --kafka {settings.bootstrap} --kafka-prefix {settings.prefix}`"
    )


async def test_events_of_a_producer_whose_id_the_cluster_gave_to_another_are_published(address: str) -> None:
    async with open_kafka(address) as first, open_kafka(address) as second:
        # More than the broker remembers of a producer.
        for number in range(8):
            await first.publish([started("c", number)])
        second._producer._txn_manager._pid_and_epoch = first._producer._txn_manager._pid_and_epoch
        await second.publish([started("c", 8)])
        assert ordinals(await held(first, "conversation.started")) == {"c": list(range(9))}


async def test_faststream_counts_what_is_published_and_received(connect: Connect, address: str) -> None:
    prefix = address.partition("/")[2]
    async with connect() as transport, serving(student(reply), transport):
        await until(lambda: idle(transport))
        await transport.publish([started(f"c{number}") for number in range(30)])
        await until(lambda: idle(transport))
    labels = {"app_name": "faststream", "broker": "kafka"}
    published = {"destination": f"{prefix}student.replied", "status": "success", **labels}
    received = {"handler": f"{prefix}conversation.started", **labels}
    assert REGISTRY.get_sample_value("faststream_published_messages_total", published) == 30
    assert REGISTRY.get_sample_value("faststream_received_messages_total", received) == 30


async def test_a_lag_is_told_for_each_partition_held_and_for_no_other(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy.runtime.stage.SAMPLE_SECONDS", 0.1)
    admitted = asyncio.Event()

    async def work(_message: Started) -> Outcome:
        await admitted.wait()
        return emit()

    def lag() -> list[float]:
        found = [
            REGISTRY.get_sample_value("soliloquy_lag_events", _of_partition(number)) for number in range(PARTITIONS)
        ]
        return [value for value in found if value is not None]

    async with connect() as transport:
        async with serving(student(work), transport) as stage:
            await transport.publish([started(f"c{number}") for number in range(20)])
            await until(lambda: (sum(lag()), len(lag())) == (20, PARTITIONS))
            await until(lambda: stage.fault == "")
            admitted.set()
            await until(lambda: sum(lag()) == 0)
        assert stage.fault == "student is stopping"


def _of_partition(number: int) -> dict[str, str]:
    return {"service": "student", "topic": "conversation.started", "partition": str(number)}
