"""Takes up where everything stands from the topics, and follows them: runs, what was collected, what is under way."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

from google.protobuf.message import Message

from soliloquy.runtime.reading import messages
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.port import Delivery, Transport, Unanswered
from soliloquy.v1.events_pb2 import ConversationCollected, RunCancelled, RunChanged, RunStanding

# What is heard of a message, and when it was made.
Hear = Callable[[Message, float], None]

# In this order a problem that settles meanwhile is known to have been under way, and not submitted again.
RECALLED = (RunChanged, RunCancelled, RunStanding, ConversationCollected)
# What nobody else writes is not followed.
FOLLOWED = (RunCancelled, RunStanding, ConversationCollected)
# Before it is asked again.
PAUSE_SECONDS = 0.5
# After so many others get their turn.
_TURN = 256


class Topics:
    def __init__(self, transport: Transport, hear: Hear) -> None:
        self._transport = transport
        self._hear = hear
        # By message, the offset of each partition that is next.
        self._next: dict[type[Message], dict[int, int]] = {message: {} for message in RECALLED}

    async def recall(self) -> None:
        """All that they hold, however often the transport gives no answer meanwhile."""
        for message in RECALLED:
            await self._recall(message)

    async def follow(self) -> None:
        """All that comes."""
        async with asyncio.TaskGroup() as group:
            for message in FOLLOWED:
                starts = dict(self._next[message])
                group.create_task(self._take(message, self._transport.follow(TOPIC_OF[message].name, starts)))

    async def _recall(self, message: type[Message]) -> None:
        while True:
            # What was heard before is not heard again.
            starts = dict(self._next[message])
            try:
                return await self._take(message, self._transport.read(TOPIC_OF[message].name, starts=starts))
            except Unanswered:
                await asyncio.sleep(PAUSE_SECONDS)

    async def _take(self, kind: type[Message], deliveries: AsyncIterator[Delivery]) -> None:
        places = self._next[kind]
        async with aclosing(messages(deliveries)) as heard:
            number = 0
            async for delivery, message in heard:
                self._hear(message, delivery.event.time)
                places[delivery.partition.number] = delivery.offset + 1
                number += 1
                if number % _TURN == 0:
                    await asyncio.sleep(0)
