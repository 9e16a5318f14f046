"""What waits where, looked at once a second at most however many ask."""

import asyncio
import time

from services.gateway.letters import Letters
from soliloquy.runtime.topics import origin
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.gateway_pb2 import Pipeline, Stage

FRESH_SECONDS = 1.0


class Picture:
    def __init__(self, transport: Transport, letters: Letters) -> None:
        self._transport = transport
        self._letters = letters
        self._taking = asyncio.Lock()
        self._taken = Pipeline()

    async def take(self) -> Pipeline:
        """Raises Unanswered."""
        async with self._taking:
            if time.time() - self._taken.at >= FRESH_SECONDS:
                backlog = await self._transport.backlog()
                await self._letters.look()
                self._taken = Pipeline(
                    stages=[
                        Stage(service=one.group, topic=one.topic, events=one.events, oldest_seconds=one.oldest_seconds)
                        for one in sorted(backlog, key=lambda one: (one.group, one.topic))
                    ],
                    dead_letters={origin(topic): number for topic, number in self._letters.counts.items()},
                    at=time.time(),
                )
            return self._taken
