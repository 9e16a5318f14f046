"""The gateway counts each conversation once, whatever happens to it, to its database and to its topics."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from functools import partial
from pathlib import Path

import pytest

from soliloquy.runtime.events import first_event
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.runtime.transports.port import Delivery, Transport, Unanswered
from soliloquy.v1.conversation_pb2 import Conversation, Ending, EnrichmentUse, Summary, TokenUse
from soliloquy.v1.events_pb2 import ConversationCollected
from soliloquy.v1.gateway_pb2 import ListConversationsRequest, ListRunsRequest
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.gateway import database
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings
from soliloquy_services.gateway.store import Store
from tests.integration.gateway.support import PLANS, opened
from tests.integration.gateway.test_kafka import TOPICS
from tests.integration.transport.kafka import changing_topics, fresh_address
from tests.integration.transport.kafka import connect as open_kafka
from tests.lakehouse.postgres import Postgres
from tests.waiting import until

RUN = Run(id="chats", growing="soliloquy", recipe="soliloquy", max_attempts=1)
ID = "chats-soliloquy"
NUMBER = 1_500


async def collect(transport: Transport, ordinals: Collection[int]) -> None:
    """Publishes conversations, ten of which share a problem that one enrichment is about."""
    summaries = {
        ordinal: Summary(
            turns=2, enrichment=EnrichmentUse(problem=str(ordinal // 10), tokens={"planner": TokenUse(prompt=1)})
        )
        for ordinal in ordinals
    }
    collected = [
        ConversationCollected(
            conversation=Conversation(id=f"c{ordinal}", run=RUN, ordinal=ordinal, ending=Ending.ENDING_SOLVED),
            accepted=True,
            summary=summary,
        )
        for ordinal, summary in summaries.items()
    ]
    await transport.publish([first_event(one, source="collector", time=5.0) for one in collected])


async def counts(gateway: Gateway) -> tuple[int, int, int, int]:
    """Returns what the gateway counts of the run: conversations, turns and enrichments, and how many it lists."""
    runs = (await gateway.list_runs(ListRunsRequest())).runs
    listed = await gateway.list_conversations(ListConversationsRequest(run=ID)) if runs else None
    if listed is None:
        return 0, 0, 0, 0
    progress = runs[0].progress
    return progress.accepted, progress.turns, progress.tokens["planner"].prompt, listed.total


def each_once(number: int) -> tuple[int, int, int, int]:
    return number, 2 * number, -(-number // 10), number


async def shows(gateway: Gateway, number: int) -> bool:
    return await counts(gateway) == each_once(number)


class CountingLog(EmbeddedTransport):
    delivered = 0

    async def read(
        self, topic: str, numbers: Collection[int] | None = None, starts: Mapping[int, int] | None = None
    ) -> AsyncGenerator[Delivery, None]:
        async for delivery in super().read(topic, numbers, starts):
            self.delivered += 1
            yield delivery


# Takes events in batches, and is killed in the transaction of the second one, when all of it is written.
KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy_services.gateway import lease
from soliloquy_services.gateway.store import Store
from soliloquy_services.gateway.topics import TopicFollower

class Killed(Store):
    saved = 0

    def save(self, connection, runs):
        super().save(connection, runs)
        self.saved += bool(runs)
        if self.saved == 2:
            os.kill(os.getpid(), signal.SIGKILL)

async def main(log, url):
    async with EmbeddedTransport(Path(log)) as transport:
        # The next one needs not wait until its time is over.
        lease.LEASE_SECONDS = 0.1
        store = Killed(url)
        store.open()
        assert store.lease.take()
        await TopicFollower(transport, store, lambda: None).catch_up()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_one_that_is_killed_between_two_batches_counts_each_conversation_once_and_reads_none_again(
    settings: GatewaySettings, tmp_path: Path
) -> None:
    log = tmp_path / "log.sqlite"
    async with EmbeddedTransport(log) as transport:
        await collect(transport, range(NUMBER))
    killed = subprocess.run([sys.executable, "-c", KILLED, log, settings.database], check=False)
    assert killed.returncode == -signal.SIGKILL
    async with CountingLog(log) as transport:
        async with opened(transport, settings) as gateway:
            assert await shows(gateway, NUMBER)
        assert 0 < transport.delivered < NUMBER
        before = transport.delivered
        async with opened(transport, settings) as gateway:
            assert await shows(gateway, NUMBER)
            await collect(transport, range(NUMBER, NUMBER + 5))
            await until(partial(shows, gateway, NUMBER + 5))
        assert transport.delivered == before


async def test_two_gateways_on_one_database_count_each_conversation_once(
    settings: GatewaySettings, tmp_path: Path
) -> None:
    async with EmbeddedTransport(tmp_path / "log.sqlite") as transport:
        await collect(transport, range(100))
        async with opened(transport, settings) as one, opened(transport, settings) as other:
            for first in range(100, NUMBER, 100):
                await collect(transport, range(first, first + 100))
            for gateway in (one, other):
                await until(partial(shows, gateway, NUMBER))


async def test_another_log_begins_anew(settings: GatewaySettings, tmp_path: Path) -> None:
    for name, number in (("one", 30), ("other", 20)):
        async with EmbeddedTransport(tmp_path / name) as transport:
            await collect(transport, range(number))
            async with opened(transport, settings) as gateway:
                assert await shows(gateway, number)


async def test_a_topic_that_is_made_anew_begins_anew_under_way_and_at_the_next_start(
    kafka: str, settings: GatewaySettings
) -> None:
    address = await fresh_address(kafka, TOPICS)
    async with open_kafka(address) as transport, changing_topics(address) as topics:
        async with opened(transport, settings) as gateway:
            await collect(transport, range(30))
            await until(partial(shows, gateway, 30))
            await topics.delete("conversation.collected")
            await topics.make("conversation.collected")
            await until(partial(collected_anew, transport, 20))
            await until(partial(shows, gateway, 20))
        async with opened(transport, settings) as gateway:
            assert await shows(gateway, 20)


async def collected_anew(transport: Transport, number: int) -> bool:
    """Publishes conversations once the topic is there."""
    try:
        await collect(transport, range(number))
    except Unanswered:
        return False
    return True


async def test_a_database_that_goes_away_is_named_and_nothing_is_lost_when_it_is_back(tmp_path: Path) -> None:
    with Postgres() as server:
        settings = GatewaySettings(database=server.database())
        async with EmbeddedTransport(tmp_path / "log.sqlite") as transport:
            async with opened(transport, settings) as gateway:
                await collect(transport, range(20))
                await until(partial(shows, gateway, 20))
                server.kill()
                await collect(transport, range(20, 40))
                await until(lambda: f"the gateway's database {settings.database} fails: " in gateway.fault)
                with pytest.raises(Unanswered, match=r"the gateway's database .* fails"):
                    await gateway.list_conversations(ListConversationsRequest(run=ID))
                server.start()
                await until(partial(shows_at_last, gateway, 40))
                await until(lambda: not gateway.fault)
            server.kill()
            waiting = Gateway(transport, PLANS, settings)
            await until_ready(waiting, server.start)


async def shows_at_last(gateway: Gateway, number: int) -> bool:
    try:
        return await shows(gateway, number)
    except Unanswered:
        return False


async def until_ready(gateway: Gateway, mend: Callable[[], None]) -> None:
    """Mends the database once the gateway says that it waits for it."""

    async def mend_it() -> None:
        await until(lambda: "the gateway's database" in gateway.fault)
        mend()

    async with asyncio.TaskGroup() as group:
        group.create_task(mend_it())
        async with gateway.at_work():
            assert await shows(gateway, 40)
            assert not gateway.fault


async def test_a_full_disk_is_named_and_nothing_is_lost_when_there_is_room(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = GatewaySettings(database=f"sqlite:///{tmp_path}/state.db")
    prepare = database._prepare_sqlite

    def prepare_full(connection: sqlite3.Connection, record: object) -> None:
        prepare(connection, record)
        # A limit below the pages that are used counts as those.
        connection.execute("PRAGMA max_page_count = 1")

    async with EmbeddedTransport(tmp_path / "log.sqlite") as transport:
        async with opened(transport, settings):
            pass
        with monkeypatch.context() as full:
            full.setattr(database, "_prepare_sqlite", prepare_full)
            async with opened(transport, settings) as gateway:
                await collect(transport, range(NUMBER))
                await until(lambda: "fails: database or disk is full" in gateway.fault)
        async with opened(transport, settings) as gateway:
            assert await shows(gateway, NUMBER)


def test_a_migration_that_was_interrupted_is_finished_at_the_next_start(
    monkeypatch: pytest.MonkeyPatch, settings: GatewaySettings
) -> None:
    released = database.MIGRATIONS
    first = Store(settings.database)
    first.open()
    first.close()
    statements = ["ALTER TABLE runs ADD COLUMN note TEXT", "UPDATE runs SET note = ''"]
    for last in ("no statement", statements[1]):
        migrations = [*released, f"{statements[0]};\n{last};\n"]
        monkeypatch.setattr(database, "MIGRATIONS", migrations)
        again = Store(settings.database)
        if last == statements[1]:
            again.open()
            assert not again.news(since=-1)
        else:
            with pytest.raises(Unanswered, match=r"fails: .*syntax"):
                again.open()
        again.close()
    monkeypatch.undo()
    older = Store(settings.database)
    with pytest.raises(
        Failure,
        match=f"has tables of version {len(released) + 1}, and this release knows {len(released)}: install the release",
    ):
        older.open()
    older.close()


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("gateway.db", "invalid database 'gateway.db': use sqlite:////folder/file or postgresql://user@host/database"),
        ("mysql://db/runs", "invalid database 'mysql://db/runs': use sqlite:"),
        ("postgresql://me:secret@db/runs", "a password, which others can see: name it in PGPASSWORD"),
    ],
)
def test_a_database_that_cannot_be_used_is_refused_with_what_to_write(url: str, advice: str) -> None:
    with pytest.raises(Failure) as refused:
        Store(url)
    assert advice in str(refused.value)
    assert "secret" not in str(refused.value)
