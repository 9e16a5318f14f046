"""Takes snapshots of the pipeline: the backlog of each stage, and its dead letters."""

import asyncio
import time

from soliloquy.runtime.topics import origin
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.gateway_pb2 import Pipeline, Stage
from soliloquy_services.gateway.dead_letters import DeadLetters

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
