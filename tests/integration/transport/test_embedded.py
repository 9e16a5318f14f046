"""The embedded log keeps the contract, and the promises of a log in one file."""

import asyncio
import sqlite3
import time
from collections import Counter
from contextlib import aclosing, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from soliloquy.runtime.events import Event, Outcome, emit, first_event
from soliloquy.runtime.handling import Service
from soliloquy.runtime.stage import Stage
from soliloquy.runtime.topics import RETRY
from soliloquy.runtime.transports.embedded import EmbeddedTransport, LogUnavailable, log
from soliloquy.runtime.transports.embedded.alarm import Alarm
from soliloquy.runtime.transports.embedded.log import PARTITIONS
from soliloquy.runtime.transports.port import Partition, Transport
from soliloquy.v1 import events_pb2
from soliloquy.v1.runs_pb2 import Run
from tests.integration.transport.contract import StageContract, TransportContract
from tests.integration.transport.embedded import connect as open_log
from tests.integration.transport.recovery import RecoveryContract
from tests.integration.transport.runs import RunsContract
from tests.integration.transport.support import Connect, held, idle, reply, serving, started, student
from tests.waiting import until

Started = events_pb2.ConversationStarted


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "events.db")


@pytest.fixture
def adapter() -> str:
    return "tests.integration.transport.embedded"


@pytest.fixture
def connect(address: str) -> Connect:
    return partial(open_log, address)


class TestEmbedded(TransportContract):
    pass


class TestStage(StageContract):
    pass


class TestEmbeddedRuns(RunsContract):
    pass


class TestEmbeddedRecovery(RecoveryContract):
    def keeps_others_out(self, address: str) -> bool:
        with closing(sqlite3.connect(address, timeout=0.2, isolation_level=None)) as log:
            try:
                log.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
            log.execute("ROLLBACK")
        return False

    async def test_a_topic_is_emptied_once_every_group_that_reads_it_is_past_it(self, connect: Connect) -> None:
        async def swallow(_message: events_pb2.StudentReplied) -> Outcome:
            return emit()

        readers = [Service(name=name, handlers={events_pb2.StudentReplied: swallow}) for name in ("tutor", "auditor")]
        async with connect() as transport, serving(readers[0], transport), serving(student(reply), transport):
            async with serving(readers[1], transport):
                await until(lambda: idle(transport, "auditor"))
            await transport.publish([started(f"c{number}") for number in range(40)])
            await until(lambda: idle(transport))
            await until(lambda: idle(transport, "tutor"))
            assert len(await held(transport, "student.replied")) == 40

            async with serving(readers[1], transport):

                async def emptied() -> bool:
                    return not await held(transport, "student.replied")

                await until(emptied)


@pytest.mark.parametrize("is_regained", [False, True])
async def test_partitions_that_are_lost_while_they_are_given_up_are_held_again_once_regained(
    connect: Connect, is_regained: bool
) -> None:
    began, may_end = asyncio.Event(), asyncio.Event()

    async def wait(message: Started) -> Outcome:
        began.set()
        await may_end.wait()
        return await reply(message)

    async with connect() as transport, serving(student(wait), transport) as stage:
        await transport.publish([started("before")])
        await began.wait()
        topics = ("conversation.started", "conversation.started" + RETRY)
        partitions = [Partition(topic, number) for topic in topics for number in range(PARTITIONS)]
        giving_up = asyncio.create_task(stage.revoked(partitions))
        await asyncio.sleep(0)
        stage.lost(partitions)
        if is_regained:
            await stage.assigned(partitions)
        await giving_up
        may_end.set()
        if is_regained:
            await transport.publish([started("after")])
            await until(lambda: answered(transport, "after"))
        else:
            # As a Kafka consumer does that cannot commit the positions of what it has given up.
            stage.lost(partitions)


async def answered(transport: Transport, key: str) -> bool:
    return key in {delivery.event.key for delivery in await held(transport, "student.replied")}


async def test_a_full_disk_ends_the_run_with_one_clear_line_and_loses_nothing(address: str) -> None:
    async def fat(message: Started) -> Outcome:
        answer = events_pb2.StudentReplied(conversation=message.conversation)
        answer.conversation.problem.question = "x" * 200_000
        return emit(answer)

    async with open_log(address) as transport:
        await transport.publish([started(f"c{number}") for number in range(60)])
        # SQLite answers as on a full disk, for this connection only.
        await transport._log.write(lambda connection: connection.execute("PRAGMA max_page_count = 1000").fetchone())
        with pytest.raises(LogUnavailable, match="disk is full: free some space"):
            await Stage(student(fat, max_in_flight=2), transport).run()
    async with open_log(address) as transport, serving(student(fat), transport):
        await until(lambda: idle(transport))
        replies = await held(transport, "student.replied")
    assert Counter(delivery.event.key for delivery in replies) == Counter(f"c{number}" for number in range(60))


async def test_a_file_keeps_little_of_what_every_group_has_read(address: str) -> None:
    async def swallow(_message: Started) -> Outcome:
        return emit()

    async with open_log(address) as transport:
        await transport.publish([replace(started(f"c{number}"), traceparent="x" * 20_000) for number in range(300)])
        async with serving(student(swallow), transport):
            await until(lambda: idle(transport))
    assert Path(address).stat().st_size < 300 * 1_000


async def test_a_record_is_kept_for_its_time_and_the_latest_row_of_a_key_for_good(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "EXPIRE_EVERY_SECONDS", 0.0)
    days = 86_400.0

    def events(age: float) -> list[Event]:
        messages = (events_pb2.CallAudited(what=f"{age}"), events_pb2.RunStanding(run=Run(id=f"{age}")))
        return [first_event(message, source="test", time=time.time() - age) for message in messages]

    # A writer deletes.
    async with open_log(address) as transport, serving(student(reply), transport):
        for age in (91 * days, 89 * days):
            await transport.publish(events(age))

        async def is_left(topic: str, number: int) -> bool:
            return len(await held(transport, topic)) == number

        await until(lambda: is_left("call.audited", 1))
        assert await is_left("run.standing", 2)


async def test_a_log_that_is_none_is_refused_with_what_to_do(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"no database at all" * 1000)
    for path, advice in [
        (garbage, "garbage.db: it is not an event log: move the file away"),
        (tmp_path, "cannot be opened: check that its folder exists"),
        (tmp_path / "nowhere" / "events.db", "cannot be opened: check that its folder exists"),
    ]:
        with pytest.raises(LogUnavailable, match=advice):
            await EmbeddedTransport(path).__aenter__()


async def test_a_damaged_log_is_refused_with_what_to_do(address: str) -> None:
    async with open_log(address) as transport:
        await transport.publish([started(f"c{number}") for number in range(500)])
    path = Path(address)
    sound = path.read_bytes()
    path.write_bytes(sound[: len(sound) // 2])
    with pytest.raises(LogUnavailable, match="it is damaged: move the file away"):
        async with open_log(address) as transport:
            await held(transport, "conversation.started")


async def test_a_log_of_the_earlier_format_goes_on(address: str) -> None:
    async with open_log(address) as transport:
        await transport.publish([started("c1")])
    with closing(sqlite3.connect(address)) as connection, connection:
        connection.execute("UPDATE setting SET value = 2 WHERE name = 'format'")
        connection.execute("ALTER TABLE event DROP COLUMN lineage")
    async with open_log(address) as transport:
        await transport.publish([replace(started("c2"), lineage="0123456789ab")])
        found = await held(transport, "conversation.started")
    assert {one.event.key: one.event.lineage for one in found} == {"c1": "", "c2": "0123456789ab"}


async def test_a_log_of_another_format_is_refused(address: str) -> None:
    async with open_log(address):
        pass
    with closing(sqlite3.connect(address)) as connection, connection:
        connection.execute("UPDATE setting SET value = 99 WHERE name = 'format'")
    with pytest.raises(LogUnavailable, match="the log has format 99"):
        await EmbeddedTransport(Path(address)).__aenter__()


async def test_a_log_that_stays_locked_is_reported(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_log(address):
        pass
    monkeypatch.setattr(log, "BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(address, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LogUnavailable, match="another program keeps it locked"):
            await EmbeddedTransport(Path(address)).__aenter__()


async def test_processes_may_create_the_same_log_at_once(address: str) -> None:
    transports = [open_log(address) for _ in range(6)]
    await asyncio.gather(*[transport.__aenter__() for transport in transports])
    await asyncio.gather(*[transport.publish([started(f"c{at}")]) for at, transport in enumerate(transports)])
    assert len(await held(transports[0], "conversation.started")) == 6
    await asyncio.gather(*[transport.__aexit__(None, None, None) for transport in transports])


async def test_an_idle_log_sleeps_until_another_process_writes(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_log(address) as publisher, open_log(address) as follower:
        waits, writes, wait = [0.0], 0, Alarm.wait

        def observed(alarm: Alarm, seconds: float, *, for_writes: bool) -> bool:
            nonlocal writes
            waits.append(seconds)
            woken = wait(alarm, seconds, for_writes=for_writes)
            writes += woken
            return woken

        async with aclosing(follower.follow("conversation.started")) as heard:
            first = asyncio.create_task(anext(heard))
            monkeypatch.setattr(Alarm, "wait", observed)
            await until(lambda: waits[-1] == log.LONGEST_WAIT_SECONDS)
            assert writes == 0
            await publisher.publish([started("c1")])
            assert (await first).event.key == "c1"
            assert writes >= 1
