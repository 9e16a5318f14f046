"""A topic that is deleted, or that comes back shorter, is named, and stops no consumer."""

import asyncio
import os
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from soliloquy.runtime.events import Outcome
from soliloquy.runtime.transports.kafka.transport import KafkaTransport
from soliloquy.runtime.transports.port import Partition, Transport, Watermark
from soliloquy.v1.events_pb2 import ConversationStarted
from tests.integration.transport.kafka import PARTITIONS, Topics, changing_topics, connect, fresh_address, settings
from tests.integration.transport.support import held, idle, metric, reply, serving, started, student
from tests.kafka.cluster import KafkaCluster
from tests.kafka.fixtures import started as started_cluster
from tests.waiting import until

TOPIC = "conversation.started"
# Longer than a group and a cluster wait for a broker.
DOWN_SECONDS = 20.0


@pytest.fixture
async def address(kafka: str) -> str:
    return await fresh_address(kafka)


@pytest.fixture
async def topics(address: str) -> AsyncIterator[Topics]:
    async with changing_topics(address) as topics:
        yield topics


class Handled:
    """Keeps the keys of what a service handles."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    async def __call__(self, message: ConversationStarted) -> Outcome:
        self.keys.append(message.conversation.id)
        return await reply(message)

    def has(self, *keys: str) -> bool:
        return set(keys) <= set(self.keys)


def lost(topic: str = TOPIC) -> float:
    return REGISTRY.get_sample_value("soliloquy_topics_lost_total", {"topic": topic}) or 0.0


async def backlog(transport: Transport) -> list[int]:
    return [each.events for each in await transport.backlog() if each.group == "student"]


async def test_a_deleted_topic_is_named_until_it_is_back_and_work_goes_on(
    address: str, topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    handled, before = Handled(), lost()
    keys = [f"c{number}" for number in range(200)]
    async with connect(address) as transport, serving(student(handled), transport) as stage:
        await transport.publish([started(key) for key in keys])
        await until(lambda: handled.has(*keys))
        await until(lambda: idle(transport))
        assert transport.fault == ""
        await topics.delete(TOPIC)
        async with asyncio.timeout(10):
            await until(lambda: transport.fault)
        reach = f"--kafka {topics.settings.bootstrap} --kafka-prefix {topics.settings.prefix}"
        named = f"{TOPIC} is missing: run `soliloquy topics apply {reach}`"
        assert transport.fault == f"{topics.settings.bootstrap}: {named}"
        assert [
            record.message for record in caplog.records if TOPIC in record.message and "soliloquy" in record.name
        ] == [f"topics are gone with their events: {named}"]
        assert lost() == before + 1
        await topics.make(TOPIC)
        await until(lambda: not transport.fault)
        await transport.publish([started(key) for key in ("new", "newer", "newest")])
        await until(lambda: handled.has("new", "newer", "newest"))
        await until(lambda: idle(transport))
        await until(lambda: stage.fault == "")
    assert len(handled.keys) == len(keys) + 3


@pytest.mark.parametrize("new", [3, 300], ids=["shorter", "longer"])
async def test_a_topic_that_was_made_anew_is_read_from_its_beginning(address: str, topics: Topics, new: int) -> None:
    handled, before = Handled(), lost()
    async with connect(address) as transport, connect(address) as writer, serving(student(handled), transport):
        await transport.publish([started(f"c{number}") for number in range(100)])
        await until(lambda: len(handled.keys) == 100)
        await until(lambda: idle(transport))
        await topics.delete(TOPIC)
        await topics.make(TOPIC)
        keys = [f"new{number}" for number in range(new)]
        await writer.publish([started(key) for key in keys])
        await until(lambda: handled.has(*keys))
        await until(lambda: idle(transport))
        assert lost() == before + 1
    assert len(handled.keys) == 100 + new


async def test_a_topic_that_was_made_anew_while_a_service_was_busy_is_read_from_its_beginning(
    address: str, topics: Topics
) -> None:
    handled, before, idle_again = Handled(), lost(), asyncio.Event()

    async def work(message: ConversationStarted) -> Outcome:
        await idle_again.wait()
        return await handled(message)

    async with connect(address) as transport, serving(student(work, max_in_flight=2), transport):
        await transport.publish([started(f"c{number}") for number in range(100)])
        # Its partitions are paused: the client asks nothing of the topic.
        await until(lambda: REGISTRY.get_sample_value("soliloquy_lanes_in_use", {"service": "student"}) == 2)
        await topics.delete(TOPIC)
        await topics.make(TOPIC)
        await until(lambda: lost() == before + 1)
        await transport.publish([started(key) for key in ("new", "newer", "newest")])
        idle_again.set()
        await until(lambda: handled.has("new", "newer", "newest"))
        await until(lambda: idle(transport))


async def test_a_position_beyond_the_end_is_taken_for_the_beginning_and_no_backlog_is_negative(
    address: str, topics: Topics
) -> None:
    handled = Handled()
    async with connect(address) as transport:
        async with serving(student(handled), transport):
            await transport.publish([started("c")])
            await until(lambda: handled.has("c"))
            await until(lambda: idle(transport))
        beyond = {Partition(TOPIC, number): Watermark(164) for number in range(PARTITIONS)}
        await transport._commit("student", beyond)
        await transport.publish([started(key) for key in ("d", "e")])
        assert sorted(await backlog(transport)) == [0, 3]
        async with serving(student(handled), transport):
            await until(lambda: handled.has("d", "e"))
            await until(lambda: idle(transport))
        assert await backlog(transport) == [0, 0]


async def test_a_follower_goes_on_with_a_topic_that_was_made_anew(address: str, topics: Topics) -> None:
    seen: list[str] = []

    async def follow(transport: Transport) -> None:
        beyond = dict.fromkeys(range(PARTITIONS), 164)
        async for delivery in transport.follow(TOPIC, beyond):
            seen.append(delivery.event.key)  # noqa: PERF401 (it never ends)

    async with connect(address) as transport:
        following = asyncio.create_task(follow(transport))
        for key in ("c", "d", "e"):
            await transport.publish([started(key)])
            await until(partial(seen.count, key))
            assert [each.event.key for each in await held(transport, TOPIC)] == [key]
            await topics.delete(TOPIC)
            await topics.make(TOPIC)
        following.cancel()


async def test_a_follower_reads_the_partitions_that_a_topic_gains(address: str, topics: Topics) -> None:
    seen: set[int] = set()

    async def follow(transport: Transport) -> None:
        async for delivery in transport.follow(TOPIC):
            seen.add(delivery.partition.number)

    async with connect(address) as transport:
        following = asyncio.create_task(follow(transport))
        await transport.publish([started(f"c{number}") for number in range(100)])
        await until(lambda: len(seen) == PARTITIONS)
        await topics.grow(TOPIC, PARTITIONS + 2)
        # A producer that knows the partitions there are.
        async with connect(address) as writer:
            await writer.publish([started(f"d{number}") for number in range(100)])
        await until(lambda: len(seen) == PARTITIONS + 2)
        following.cancel()


async def test_outputs_wait_for_a_topic_that_is_gone(address: str, topics: Topics) -> None:
    handled = Handled()
    async with connect(address) as transport, serving(student(handled), transport) as stage:
        await transport.publish([started("c")])
        await until(lambda: idle(transport))
        await topics.delete("student.replied")
        await until(lambda: "student.replied is missing" in transport.fault)
        await transport.publish([started("d"), started("e")])
        await until(lambda: handled.has("d", "e"))
        await topics.make("student.replied")
        await until(lambda: idle(transport))
        assert (stage.fault, len(handled.keys)) == ("", 3)
        assert {each.event.key for each in await held(transport, "student.replied")} == {"d", "e"}


async def test_a_service_works_on_with_a_broker_that_lost_its_data_and_has_its_topics_again(tmp_path: Path) -> None:
    handled = Handled()
    with started_cluster(KafkaCluster(tmp_path, heap="256m")) as cluster:
        address = await fresh_address(cluster.bootstrap)
        async with connect(address) as transport, serving(student(handled), transport) as stage:
            keys = [f"c{number}" for number in range(100)]
            await transport.publish([started(key) for key in keys])
            await until(lambda: handled.has(*keys))
            await until(lambda: idle(transport))
            cluster.kill(1)
            cluster.lose_data(1)
            await asyncio.to_thread(cluster.start_node, 1)
            await until(lambda: TOPIC in transport.fault)
            await fresh_address(cluster.bootstrap, prefix=settings(address).prefix)
            await transport.publish([started(key) for key in ("new", "newer", "newest")])
            await until(lambda: handled.has("new", "newer", "newest"))
            await until(lambda: idle(transport))
            await until(lambda: not transport.fault and not stage.fault)
            assert len(await held(transport, "student.replied")) == 3


async def test_events_that_follow_in_a_log_that_lost_its_end_are_handled(tmp_path: Path) -> None:
    handled, before = Handled(), lost()
    with started_cluster(KafkaCluster(tmp_path, heap="256m")) as cluster:
        address = await fresh_address(cluster.bootstrap)
        async with connect(address) as transport, serving(student(handled), transport) as stage:
            for number in range(40):
                await transport.publish([started(f"{number}-{each}") for each in range(10)])
            await until(lambda: len(handled.keys) == 400)
            await until(lambda: idle(transport))
            cluster.kill(1)
            logs = list(tmp_path.glob(f"node-1/data/{settings(address).prefix}{TOPIC}-*/*.log"))
            assert len(logs) == PARTITIONS
            for log in logs:
                os.truncate(log, log.stat().st_size // 2)
            await asyncio.to_thread(cluster.start_node, 1)
            new = [f"new{number}" for number in range(20)]
            await transport.publish([started(key) for key in new])
            await until(lambda: handled.has(*new))
            await until(lambda: idle(transport))
            await until(lambda: stage.fault == "")
    assert (len(handled.keys), lost()) == (420, before)


class Undisturbed:
    """Fails if positions go back, events are repeated, or a topic is taken for a lost one."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        self._positions: dict[Partition, int] = {}
        self._repeated = self._repeats()

    async def look(self, transport: Transport) -> None:
        assert isinstance(transport, KafkaTransport)
        positions = {each: mark.position for each, mark in (await transport._reader.watermarks("student")).items()}
        assert all(position >= self._positions.get(each, -1) for each, position in positions.items())
        self._positions |= positions
        assert self._repeats() == self._repeated
        assert transport._reader.topics.generations.total() == 0
        assert [each.message for each in self._caplog.records if each.name.startswith("soliloquy")] == []

    def _repeats(self) -> float:
        return metric("soliloquy_events_duplicate_total")


async def test_members_that_come_and_go_take_no_topic_for_a_lost_one(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    handled, undisturbed = Handled(), Undisturbed(caplog)
    async with connect(address) as transport, serving(student(handled), transport):
        for number in range(4):
            keys = [f"{number}-{each}" for each in range(50)]
            await transport.publish([started(key) for key in keys])
            async with connect(address) as other, serving(student(handled), other):
                await until(partial(handled.has, *keys))
            await until(lambda: idle(transport))
            await undisturbed.look(transport)
    assert len(handled.keys) == 200


@pytest.mark.thorough
@pytest.mark.parametrize("brokers", [1, 3])
async def test_brokers_that_are_down_take_no_topic_along(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, brokers: int
) -> None:
    handled, undisturbed = Handled(), Undisturbed(caplog)
    with started_cluster(KafkaCluster(tmp_path, brokers=brokers, heap="256m")) as cluster:
        address = await fresh_address(cluster.bootstrap, replication=brokers)
        async with connect(address) as transport, serving(student(handled), transport) as stage:
            for node in range(1, brokers + 1):
                keys = [f"{node}-{each}" for each in range(50)]
                await transport.publish([started(key) for key in keys])
                await until(partial(handled.has, *keys))
                await until(lambda: idle(transport))
                await undisturbed.look(transport)
                await asyncio.to_thread(cluster.kill, node)
                # Others lead its partitions meanwhile, if there are any.
                await asyncio.sleep(DOWN_SECONDS)
                assert transport.fault == ""
                await asyncio.to_thread(cluster.start_node, node)
                await until(lambda: stage.fault == "")
                await undisturbed.look(transport)
            await transport.publish([started("last")])
            await until(lambda: handled.has("last"))
            await until(lambda: idle(transport))
            await undisturbed.look(transport)
    assert len(handled.keys) == 50 * brokers + 1
