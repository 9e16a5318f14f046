"""Reads dead letters, the problems whose events ended there, and snapshots of the pipeline."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

from soliloquy.runtime import dead_letters
from soliloquy.runtime.events import (
    ConversationEvent,
    Event,
    RunEvent,
    Undecodable,
    message_of,
    ordinal_of,
    run_key,
    run_of,
)
from soliloquy.runtime.topics import origin
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.gateway_pb2 import DeadLetter, Pipeline, Stage

# After reading all letters, wait this many times as long as that took.
REST = 10
# How old a snapshot of the pipeline may be.
FRESH_SECONDS = 1.0


class PipelineState:
    """The dead letters, and the backlog of each stage."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.counts: Mapping[str, int] = {}
        self.letters: Sequence[DeadLetter] = ()
        # For each run, the ordinals of its dead problems.
        self.ordinals: Mapping[str, set[int]] = {}
        self._rests_until = 0.0
        self._lock = asyncio.Lock()
        self._snapshot = Pipeline()

    async def refresh(self, *, at_once: bool = False) -> None:
        """Reads the letters again if their counts have changed; raises Unanswered."""
        counts = await self._transport.dead_letters()
        if not at_once and (counts == self.counts or time.monotonic() < self._rests_until):
            return
        started = time.monotonic()
        rows: list[DeadLetter] = []
        ordinals: defaultdict[str, set[int]] = defaultdict(set)
        if counts:
            async for letter in dead_letters.letters(self._transport):
                row, ordinal = _row(letter.event)
                rows.append(row)
                if ordinal is not None:
                    ordinals[row.run].add(ordinal)
        self.counts, self.letters, self.ordinals = counts, rows, ordinals
        self._rests_until = time.monotonic() + REST * (time.monotonic() - started)

    async def snapshot(self) -> Pipeline:
        """Takes a snapshot at most once a second, however many callers ask; raises Unanswered."""
        async with self._lock:
            if time.time() - self._snapshot.at >= FRESH_SECONDS:
                backlog = await self._transport.backlog()
                await self.refresh()
                self._snapshot = Pipeline(
                    stages=[
                        Stage(service=one.group, topic=one.topic, events=one.events, oldest_seconds=one.oldest_seconds)
                        for one in sorted(backlog, key=lambda one: (one.group, one.topic))
                    ],
                    dead_letters={origin(topic): number for topic, number in self.counts.items()},
                    at=time.time(),
                )
            return self._snapshot


def _row(event: Event) -> tuple[DeadLetter, int | None]:
    """Returns the letter and its problem's ordinal; None where the event does not tell."""
    row = DeadLetter(
        id=event.id, topic=origin(event.topic), made_at=event.time, attempt=event.attempt, error=event.error
    )
    try:
        message = message_of(event)
    except Undecodable:
        return row, None
    assert isinstance(message, ConversationEvent | RunEvent)
    row.run = run_key(run_of(message))
    if isinstance(message, ConversationEvent):
        row.conversation = message.conversation.id
    return row, ordinal_of(message)
