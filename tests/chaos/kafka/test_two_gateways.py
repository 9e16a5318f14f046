"""Two gateways drive a run over a real broker while one or the other is killed every five seconds."""

import asyncio
import itertools
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack

import pytest

from soliloquy.client import AsyncRuns
from soliloquy.client.states import state_of
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.gateway_pb2 import FinishedConversation
from tests.integration.gateway.process import GatewayProcess
from tests.integration.gateway.support import Collecting, growing
from tests.integration.gateway.test_kafka import TOPICS
from tests.integration.transport.kafka import connect, fresh_address
from tests.lakehouse.postgres import Postgres

SECONDS, RATE = 600, 200
CONVERSATIONS = SECONDS * RATE
KILLED_EVERY = 5
# Between two conversations that begin.
MOST_GAP = 10


class Paced:
    """Lets so many conversations a second be judged, and measures the longest time in which none came."""

    def __init__(self) -> None:
        self._came = 0
        self._first = self._latest = 0.0
        self.gap = 0.0

    def judge(self, conversation: Conversation) -> list[str]:
        now = time.monotonic()
        self._first, self._latest = self._first or now, self._latest or now
        self.gap = max(self.gap, now - self._latest)
        self._latest = now
        self._came += 1
        return []

    async def pace(self, collecting: Collecting) -> None:
        while True:
            is_ahead = self._came > 1 + (time.monotonic() - self._first) * RATE
            collecting.open.clear() if is_ahead else collecting.open.set()
            await asyncio.sleep(0.02)


async def watched(runs: AsyncRuns, run: str) -> list[int]:
    """Returns the counts of a watcher who stays to the end."""
    return [status.progress.accepted async for status in runs.watch(run)]


async def tailed(told: AsyncGenerator[FinishedConversation, None], number: int, seen: Counter[int]) -> None:
    async for one in told:
        seen[one.ordinal] += 1
        if seen.total() == number:
            return


@pytest.mark.timeout(3 * SECONDS)
@pytest.mark.asyncio
async def test_nothing_is_lost_or_made_twice_and_no_watcher_misses_any(kafka: str) -> None:
    address = await fresh_address(kafka, TOPICS)
    paced, drawn, kills = Paced(), random.Random(7), 0
    collecting = Collecting(paced.judge)
    with Postgres() as server:
        database = server.database()
        gateways = [GatewayProcess(address, database) for _ in range(2)]
        async with AsyncExitStack() as stack:
            transport = await stack.enter_async_context(connect(address))
            await stack.enter_async_context(growing(transport, collecting))
            clients = [
                await stack.enter_async_context(
                    AsyncRuns(gateway.address, deadline_seconds=SECONDS, away_seconds=SECONDS)
                )
                for gateway in gateways
            ]
            started = await clients[0].start(problems="arithmetic", conversations=CONVERSATIONS, in_flight=1_000)
            seen = [Counter[int](), Counter[int]()]
            async with asyncio.TaskGroup() as tasks:
                pacing = tasks.create_task(paced.pace(collecting))
                tails = [
                    tasks.create_task(tailed(client.tail(started.id), CONVERSATIONS, counted))
                    for client, counted in zip(clients, seen, strict=True)
                ]
                ends = [tasks.create_task(watched(client, started.id)) for client in clients]
                began = time.monotonic()
                for due in itertools.count(began + KILLED_EVERY, KILLED_EVERY):
                    await asyncio.wait(ends, timeout=max(0.0, due - time.monotonic()))
                    if any(end.done() for end in ends) or len(collecting.seen) >= CONVERSATIONS:
                        break
                    gateway = drawn.choice(gateways)
                    gateway.kill()
                    gateway.start()
                    kills += 1
                seconds = time.monotonic() - began
                counts = [await end for end in ends]
                async with asyncio.timeout(60):
                    await asyncio.gather(*tails)
                pacing.cancel()
            finished = await clients[1].get(started.id)
        for gateway in gateways:
            gateway.kill()
    print(f"\n{CONVERSATIONS / seconds:.0f} a second, {kills} kills, longest gap {paced.gap:.1f} s")
    assert (state_of(finished), finished.progress.accepted) == ("finished", CONVERSATIONS)
    assert sorted(collecting.seen) == [(ordinal, 0) for ordinal in range(CONVERSATIONS)]
    assert seen == [Counter(range(CONVERSATIONS))] * 2
    for told in counts:
        assert told == sorted(told)
        assert told[-1] == CONVERSATIONS
    assert paced.gap <= MOST_GAP
