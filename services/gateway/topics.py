"""Follows the topics of runs into the store, and keeps the topics of the pipeline."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import TypeVar

from google.protobuf.message import Message

from soliloquy.runtime.reading import messages
from soliloquy.runtime.topics import TOPIC_OF, origin
from soliloquy.runtime.transports.answering import PAUSE_SECONDS
from soliloquy.runtime.transports.port import Delivery, Transport, Unanswered
from soliloquy.v1.events_pb2 import ConversationCollected, RunCancelled, RunChanged, RunHeld, RunStanding, RunStored
from soliloquy.v1.gateway_pb2 import Pipeline, Stage
from soliloquy_services.gateway.database import DatabaseUnavailable
from soliloquy_services.gateway.dead_letters import DeadLetters
from soliloquy_services.gateway.store import Store

# In this order, a problem that finishes while they are read counts as under way, and is not submitted again.
FOLLOWED = (RunChanged, RunCancelled, RunHeld, RunStanding, RunStored, ConversationCollected)
# The most events of one transaction.
BATCH = 500

Item = TypeVar("Item")


class TopicFollower:
    """Works only while the gateway holds the lease."""

    def __init__(self, transport: Transport, store: Store, took: Callable[[], None]) -> None:
        """`took` is called when the store may have changed."""
        self._transport = transport
        self._store = store
        self._took = took
        # Why the store cannot take events; empty while it can.
        self.fault = ""

    async def catch_up(self) -> None:
        """Has the store take everything that the topics hold; repeats what is not answered."""
        for kind in FOLLOWED:
            while not await self._take(kind, self._transport.read):
                pass

    async def follow(self) -> None:
        """Has the store take everything that comes."""
        async with asyncio.TaskGroup() as group:
            for kind in FOLLOWED:
                group.create_task(self._follow(kind))

    async def _follow(self, kind: type[Message]) -> None:
        while True:
            await self._take(kind, self._transport.follow)

    async def _take(self, kind: type[Message], deliveries: Callable[..., AsyncGenerator[Delivery, None]]) -> bool:
        """Begins where the store is; returns whether there is no more to take, and pauses if it failed."""
        topic = TOPIC_OF[kind].name
        try:
            identity = await self._transport.identity(topic)
            positions = await self._store.call(self._store.begin, kind, identity)
            self._took()
            self.fault = ""
            async with (
                aclosing(messages(deliveries(topic, starts=positions))) as received,
                aclosing(batches(received)) as found,
            ):
                async for batch in found:
                    if await self._transport.identity(topic) != identity:
                        return False
                    positions = await self._store.call(self._store.take, kind, identity, positions, batch)
                    self._took()
                    self.fault = ""
            return True
        except DatabaseUnavailable as error:
            self.fault = str(error)
        except Unanswered:
            pass
        await asyncio.sleep(PAUSE_SECONDS)
        return False


async def batches(items: AsyncIterator[Item], most: int = BATCH) -> AsyncGenerator[list[Item], None]:
    """Yields the items that are there, at least one and at most so many."""
    coming = asyncio.ensure_future(anext(items, None))
    try:
        while item := await coming:
            batch = [item]
            coming = asyncio.ensure_future(anext(items, None))
            await asyncio.sleep(0)
            # A fault loses nothing that was received before it.
            while len(batch) < most and coming.done() and not coming.exception() and (item := coming.result()):
                batch.append(item)
                coming = asyncio.ensure_future(anext(items, None))
                await asyncio.sleep(0)
            yield batch
    finally:
        coming.cancel()
        await asyncio.wait([coming])


# How old a snapshot of the pipeline may be.
FRESH_SECONDS = 1.0


class PipelineState:
    def __init__(self, transport: Transport, letters: DeadLetters) -> None:
        self._transport = transport
        self._letters = letters
        self._lock = asyncio.Lock()
        self._snapshot = Pipeline()

    async def snapshot(self) -> Pipeline:
        """Takes a snapshot at most once a second, however many callers ask; raises Unanswered."""
        async with self._lock:
            if time.time() - self._snapshot.at >= FRESH_SECONDS:
                backlog = await self._transport.backlog()
                await self._letters.refresh()
                self._snapshot = Pipeline(
                    stages=[
                        Stage(service=one.group, topic=one.topic, events=one.events, oldest_seconds=one.oldest_seconds)
                        for one in sorted(backlog, key=lambda one: (one.group, one.topic))
                    ],
                    dead_letters={origin(topic): number for topic, number in self._letters.counts.items()},
                    at=time.time(),
                )
            return self._snapshot
