"""The embedded log as a transport."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from soliloquy.runtime.events import Event, checked
from soliloquy.runtime.transports.embedded import records
from soliloquy.runtime.transports.embedded.consumer import EmbeddedConsumer
from soliloquy.runtime.transports.embedded.log import Log
from soliloquy.runtime.transports.port import Backlog, Delivery, Listener


class EmbeddedTransport:
    """Shared by all stages of a process. Other processes may open the same file."""

    # A log that cannot be used ends its stages.
    fault = ""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Wakes the consumers and followers of each topic.
        self._followers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    async def __aenter__(self) -> Self:
        self._log = Log(self._path, on_append=self._wake)
        await self._log.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._log.close()

    @property
    def installation(self) -> str:
        return self._log.installation

    async def publish(self, events: Sequence[Event]) -> None:
        for event in events:
            checked(event)
        await self._log.write(partial(records.append, events=events, partitions=self._log.partitions))

    def consumer(self, group: str, topics: Sequence[str], listener: Listener) -> EmbeddedConsumer:
        return EmbeddedConsumer(self._log, self._followers, group=group, topics=topics, listener=listener)

    async def read(
        self, topic: str, numbers: Collection[int] | None = None, starts: Mapping[int, int] | None = None
    ) -> AsyncGenerator[Delivery, None]:
        after, until = 0, self._log.read(records.end)
        while deliveries := self._log.read(
            partial(records.page, topic=topic, after=after, until=until, numbers=numbers, starts=starts)
        ):
            for delivery in deliveries:
                yield delivery
            after = deliveries[-1].offset

    async def follow(self, topic: str, starts: Mapping[int, int] | None = None) -> AsyncGenerator[Delivery, None]:
        after, woken = 0, asyncio.Event()
        followers = self._followers[topic]
        followers.add(woken)
        try:
            while True:
                woken.clear()
                until = self._log.read(records.end)
                while deliveries := self._log.read(
                    partial(records.page, topic=topic, after=after, until=until, starts=starts)
                ):
                    for delivery in deliveries:
                        yield delivery
                    after = deliveries[-1].offset
                # Nothing in between belongs to the topic, so skip it next time.
                after = max(after, until)
                await woken.wait()
        finally:
            followers.discard(woken)

    async def ends(self, topic: str) -> dict[int, int]:
        return self._log.read(partial(records.next_offsets, topic=topic, partitions=self._log.partitions))

    async def identity(self, topic: str) -> str:
        return self._log.installation

    async def backlog(self) -> list[Backlog]:
        return self._log.read(records.backlog)

    async def dead_letters(self) -> Mapping[str, int]:
        return self._log.read(records.dead_letters)

    async def replay(self, letters: Sequence[Delivery]) -> None:
        await self._log.write(partial(records.replay, letters=letters, partitions=self._log.partitions))

    async def discard(self, letters: Sequence[Delivery]) -> None:
        await self._log.write(partial(records.discard, letters=letters))

    def _wake(self, topics: Collection[str]) -> None:
        for topic in topics or self._followers:
            for woken in self._followers.get(topic, ()):
                woken.set()
