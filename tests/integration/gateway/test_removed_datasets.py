"""A run on Kafka whose acknowledged conversations are removed ends with all of them, or says how many are lost."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

import soliloquy_services.collector.app
import soliloquy_services.curriculum.app
from soliloquy.dataset.layout import ShardLimits
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.handling import Service
from soliloquy.v1.conversation_pb2 import Ending
from soliloquy.v1.events_pb2 import ConversationFinished, ConversationStarted
from soliloquy.v1.gateway_pb2 import DatasetState, WatchRunRequest
from soliloquy.v1.runs_pb2 import RunState
from soliloquy_services.collector.datasets import datasets_of
from soliloquy_services.collector.settings import LiveSettings
from soliloquy_services.gateway.service import Gateway
from tests.integration.dataset.test_lost_datasets import HARMS, held, reconciled, remove
from tests.integration.gateway.contract import last_of
from tests.integration.gateway.support import asked, opened, status_of
from tests.integration.gateway.test_kafka import TOPICS
from tests.integration.transport.kafka import connect, fresh_address, settings
from tests.integration.transport.support import serving
from tests.unit.collector.collecting import numbered
from tests.waiting import until

CONVERSATIONS = 60
REMOVALS = 2


@dataclass(kw_only=True)
class Installation:
    """A gateway, a curriculum and a collector on a broker; between them, conversations finish as they start."""

    data: Path
    # The place of its datasets: `data`, or tables.
    store: str
    gateway: Gateway
    # How many conversations may finish.
    room: asyncio.Semaphore

    def let(self, conversations: int) -> None:
        for _ in range(conversations):
            self.room.release()


@asynccontextmanager
async def installation(
    address: str, folder: Path, *, store: str = "", first_rejected: int = 0
) -> AsyncIterator[Installation]:
    """Each problem whose number is a multiple of `first_rejected` is solved at the second attempt."""
    live = LiveSettings(data=folder / "data", store=store, shard_seconds=0.5, limits=ShardLimits(rows=7))
    room = asyncio.Semaphore(0)

    async def finish(event: ConversationStarted) -> Outcome:
        await room.acquire()
        started = event.conversation
        made = numbered(started.ordinal, started.attempt)
        made.id = started.id
        made.run.CopyFrom(started.run)
        if first_rejected and started.ordinal % first_rejected == 0 and started.attempt == 0:
            made.ending = Ending.ENDING_TURN_LIMIT
        return emit(ConversationFinished(conversation=made))

    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(connect(address))
        datasets = await stack.enter_async_context(datasets_of(live))
        datasets.installation = transport.installation
        collector = soliloquy_services.collector.app.service(datasets)
        between = Service(name="student", handlers={ConversationStarted: finish})
        for service in (soliloquy_services.curriculum.app.service(), between, collector):
            await stack.enter_async_context(serving(service, transport, grace=0.0))
        await stack.enter_async_context(reconciled(datasets, transport))
        gateway = await stack.enter_async_context(opened(transport))
        yield Installation(data=live.data, store=store or str(live.data), gateway=gateway, room=room)


@pytest.fixture
async def address(kafka: str) -> str:
    return await fresh_address(kafka, TOPICS)


async def collected(at: Installation, run: str, number: int) -> bool:
    return (await status_of(at.gateway, run)).progress.accepted >= number


@pytest.mark.parametrize("harm", ["volume", "dataset", "journals", "one of timings"])
async def test_a_run_is_finished_with_every_conversation_whatever_is_removed_meanwhile(
    address: str, tmp_path: Path, harm: str
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    async with installation(address, tmp_path) as at, asyncio.timeout(240):
        run = await at.gateway.start_run(asked(conversations=CONVERSATIONS))
        for part in range(REMOVALS):
            share = CONVERSATIONS // (REMOVALS + 1)
            at.let(share)
            await until(partial(collected, at, run.id, part * share + moments.randint(1, share)))
            await asyncio.sleep(moments.uniform(0.0, 0.5))
            HARMS[harm](at.data / run.id)
        at.let(CONVERSATIONS)
        async for status in at.gateway.watch_run(WatchRunRequest(run=run.id)):
            if status.state == RunState.RUN_STATE_FINISHED:
                found = held(at.data / run.id)
        assert (status.state, status.dataset) == (RunState.RUN_STATE_FINISHED, DatasetState.DATASET_STATE_WRITTEN)
        assert (len(found), set(found.values())) == (CONVERSATIONS, {1})


async def test_a_run_whose_conversations_kafka_no_longer_holds_ends_short_and_says_so(
    address: str, tmp_path: Path
) -> None:
    async with installation(address, tmp_path) as at, asyncio.timeout(240):
        run = await at.gateway.start_run(asked(conversations=CONVERSATIONS))
        at.let(CONVERSATIONS - 1)
        await until(partial(collected, at, run.id, CONVERSATIONS - 1))
        await until(lambda: len([*at.data.glob("*/timings/*")]) > 1)
        await forget(address, "conversation.finished")
        remove(at.data / run.id)
        at.let(CONVERSATIONS)
        last = await last_of(at.gateway, run.id)
        kept = len(held(at.data / run.id))
    assert (last.state, last.dataset) == (RunState.RUN_STATE_SHORT, DatasetState.DATASET_STATE_INCOMPLETE)
    lost = CONVERSATIONS - kept
    assert 0 < lost < CONVERSATIONS
    assert last.because == f"the dataset has lost conversations that conversation.finished no longer holds: {lost}"


async def forget(address: str, topic: str) -> None:
    """Deletes the events that a topic holds, as its retention does."""
    reach = settings(address)
    admin = AIOKafkaAdminClient(bootstrap_servers=reach.bootstrap)
    await admin.start()
    try:
        partitions = [TopicPartition(f"{reach.prefix}{topic}", number) for number in range(4)]
        await admin.delete_records(dict.fromkeys(partitions, RecordsToDelete(before_offset=-1)))
    finally:
        await admin.close()
