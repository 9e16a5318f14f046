"""Freezing from a real topic, and rounds that wait for its conversations."""

import asyncio
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from soliloquy.client import Dataset
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy_training.continuous.sources import SourceSpan, TopicSource
from soliloquy_training.freeze import FINISHED, freeze_topic, recorded_offsets
from tests.integration.transport.kafka import PARTITIONS, fresh_address, settings
from tests.unit.training.growing import conversations
from tests.unit.training.test_freeze import files, finish
from tests.waiting import until

# Before a test's own loop runs.
GROWN = conversations(8)


@pytest.fixture
async def connection(kafka: str) -> KafkaSettings:
    return settings(await fresh_address(kafka, [FINISHED]))


async def spoil(connection: KafkaSettings) -> int:
    """Sends a tombstone and an undecodable message to every partition; returns their number."""
    bad = [(b"gone", None), (b"strange", b"no message of ours")]
    async with AIOKafkaProducer(bootstrap_servers=connection.bootstrap) as producer:
        for number in range(PARTITIONS):
            for key, value in bad:
                await producer.send_and_wait(connection.prefix + FINISHED, key=key, value=value, partition=number)
    return PARTITIONS * len(bad)


def ids(folder: Path) -> set[str]:
    return {one.id for one in Dataset(folder)}


async def test_the_same_offsets_give_the_same_bytes_whatever_comes_later(
    connection: KafkaSettings, tmp_path: Path
) -> None:
    async with open_transport(connection) as transport:
        # Partitions begin with it, and so does what is read of them.
        spoilt = await spoil(connection)
        await finish(transport, *GROWN[:4], GROWN[0])
        first = await freeze_topic(transport, await transport.ends(FINISHED), tmp_path / "once")
        await finish(transport, *GROWN[4:6])
        spoilt_later = await spoil(connection)
        begins, ends = recorded_offsets(tmp_path / "once" / "manifest.json")
        await freeze_topic(transport, ends, tmp_path / "again", begins=begins)
        later = await freeze_topic(transport, await transport.ends(FINISHED), tmp_path / "later", begins=ends)
        with pytest.raises(Failure, match=f"partition 9 of {FINISHED} no longer holds"):
            await freeze_topic(transport, {9: 1}, tmp_path / "another-topic")
    assert files(tmp_path / "once") == files(tmp_path / "again")
    assert (ids(tmp_path / "once"), ids(tmp_path / "later")) == (
        {one.id for one in GROWN[:4]},
        {one.id for one in GROWN[4:6]},
    )
    told = [manifest["run"]["frozen"] for manifest in (first, later)]
    assert [(each["passed_over"], each["rejected"]) for each in told] == [(spoilt, 0), (spoilt_later, 0)]
    assert not (tmp_path / "another-topic").exists()


async def test_a_round_ends_with_the_conversation_that_it_waited_for_and_the_next_begins_behind_it(
    connection: KafkaSettings, tmp_path: Path
) -> None:
    topic = TopicSource(kafka=connection)
    rejected, about_a_question = Conversation(), GROWN[7]
    rejected.CopyFrom(GROWN[6])
    rejected.turns[-1].tutor.text = "Student: I give up."
    assert find("soliloquy").faults(rejected)
    heard: list[int] = []
    known = {about_a_question.id}

    def left_out(conversation: Conversation) -> bool:
        return conversation.id in known

    async def waited_for(after: dict[str, int] | None, wanted: int) -> SourceSpan:
        return await asyncio.to_thread(topic.next, after, wanted, left_out, heard.append)

    async with open_transport(connection) as transport:
        await finish(transport, rejected, about_a_question, GROWN[0])
        waiting = asyncio.create_task(waited_for(None, 3))
        await until(lambda: bool(heard))
        assert not waiting.done()
        # The first of them comes again.
        await finish(transport, GROWN[0], *GROWN[1:6])
        first = await waiting
        await asyncio.to_thread(topic.freeze, first, tmp_path / "first", left_out)
        known |= ids(tmp_path / "first")
        second = await waited_for(first.end, 3)
    await asyncio.to_thread(topic.freeze, second, tmp_path / "second", left_out)
    assert heard == [1, 2, 3, 1, 2, 3]
    both = [ids(tmp_path / name) for name in ("first", "second")]
    assert [len(each) for each in both] == [3, 3]
    assert both[0] | both[1] == {one.id for one in GROWN[:6]}
    assert (first.missed, second.missed) == (0, 0)
    assert second.begin == first.end | {number: at for number, at in second.begin.items() if number not in first.end}
