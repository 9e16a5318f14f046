"""Reads the gateway's state from its topics, follows them, and keeps the topics of the pipeline."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

from google.protobuf.message import Message

from soliloquy.runtime.events import END_OF_TIME
from soliloquy.runtime.reading import messages
from soliloquy.runtime.topics import TOPIC_OF, origin
from soliloquy.runtime.transports.port import Delivery, Transport, Unanswered
from soliloquy.v1.events_pb2 import ConversationCollected, RunCancelled, RunChanged, RunStanding, RunStored
from soliloquy.v1.gateway_pb2 import Pipeline, Stage
from soliloquy_services.gateway.dead_letters import DeadLetters

# Takes a message and when it was made.
Receive = Callable[[Message, float], None]

# In this order, a problem that finishes while they are read counts as under way, and is not submitted again.
RECALLED = (RunChanged, RunCancelled, RunStanding, RunStored, ConversationCollected)
# Only the gateway writes RunChanged, so it need not follow it.
FOLLOWED = (RunCancelled, RunStanding, RunStored, ConversationCollected)
# Before an unanswered read is repeated.
PAUSE_SECONDS = 0.5
# Messages between two turns of other tasks.
_MESSAGES_A_TURN = 256


class TopicFollower:
    def __init__(self, transport: Transport, receive: Receive) -> None:
        self._transport = transport
        self._receive = receive
        # For each message, the next offset of each partition.
        self._next: dict[type[Message], dict[int, int]] = {message: {} for message in RECALLED}

    async def catch_up(self) -> None:
        """Reads everything that the topics hold, repeating unanswered reads."""
        for message in RECALLED:
            await self._read(message)

    async def follow(self) -> None:
        """Receives everything that comes."""
        async with asyncio.TaskGroup() as group:
            for message in FOLLOWED:
                starts = dict(self._next[message])
                group.create_task(self._take(message, self._transport.follow(TOPIC_OF[message].name, starts)))

    async def _read(self, message: type[Message]) -> None:
        while True:
            # Messages received before are not received again.
            starts = dict(self._next[message])
            try:
                return await self._take(message, self._transport.read(TOPIC_OF[message].name, starts=starts))
            except Unanswered:
                await asyncio.sleep(PAUSE_SECONDS)

    async def _take(self, kind: type[Message], deliveries: AsyncIterator[Delivery]) -> None:
        places = self._next[kind]
        async with aclosing(messages(deliveries)) as received:
            number = 0
            async for delivery, message in received:
                # The writer of the event chose its time.
                self._receive(message, min(max(0.0, delivery.event.time), END_OF_TIME - 1))
                places[delivery.partition.number] = delivery.offset + 1
                number += 1
                if number % _MESSAGES_A_TURN == 0:
                    await asyncio.sleep(0)


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
