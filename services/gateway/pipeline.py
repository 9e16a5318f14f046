"""Snapshots of the pipeline: how many events wait where."""

import asyncio
import time

from services.gateway.dead_letters import DeadLetterTable
from soliloquy.runtime.topics import origin
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.gateway_pb2 import Pipeline, Stage

FRESH_SECONDS = 1.0


class PipelineSnapshots:
    def __init__(self, transport: Transport, dead_letters: DeadLetterTable) -> None:
        self._transport = transport
        self._dead_letters = dead_letters
        self._lock = asyncio.Lock()
        self._latest = Pipeline()

    async def latest(self) -> Pipeline:
        """Takes a snapshot at most once a second, however many callers ask; raises Unanswered."""
        async with self._lock:
            if time.time() - self._latest.at >= FRESH_SECONDS:
                backlog = await self._transport.backlog()
                await self._dead_letters.refresh()
                self._latest = Pipeline(
                    stages=[
                        Stage(service=one.group, topic=one.topic, events=one.events, oldest_seconds=one.oldest_seconds)
                        for one in sorted(backlog, key=lambda one: (one.group, one.topic))
                    ],
                    dead_letters={origin(topic): number for topic, number in self._dead_letters.counts.items()},
                    at=time.time(),
                )
            return self._latest
