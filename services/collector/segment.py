"""An append-only file of the conversations that are not in a shard yet."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from soliloquy.dataset.frames import Frames
from soliloquy.v1.dataset_pb2 import Collected

# The offset after the last event read, by topic and partition.
Topics = dict[str, dict[str, int]]


class Segment:
    def __init__(self, path: Path) -> None:
        self.frames = Frames(path)
        self.topics: Topics = {}
        self.bytes = 0
        self.ids: list[str] = []
        self._offsets: list[int] = []
        self._began = time.monotonic()
        self._writing = 0
        self._written = asyncio.Event()
        self._written.set()

    @property
    def rows(self) -> int:
        return len(self._offsets)

    @property
    def seconds(self) -> float:
        """How long the first conversation has been waiting; 0 if there is none."""
        return time.monotonic() - self._began if self._offsets else 0.0

    @contextmanager
    def being_written(self) -> Iterator[None]:
        self._writing += 1
        self._written.clear()
        try:
            yield
        finally:
            self._writing -= 1
            if not self._writing:
                self._written.set()

    async def written(self) -> None:
        """Waits until nothing is being added."""
        await self._written.wait()

    def enter(self, collected: Collected, start: int) -> None:
        """Counts a frame that is on the disk; the event of a failed frame is delivered again."""
        if not self._offsets:
            self._began = time.monotonic()
        self._offsets.append(start)
        self.ids.append(collected.id)
        self.bytes += len(collected.conversation)
        if collected.HasField("origin"):
            merge(self.topics, collected.origin.topic, str(collected.origin.partition), collected.origin.offset + 1)

    def collected(self) -> Iterator[Collected]:
        for start in self._offsets:
            yield Collected.FromString(self.frames.payload(start))

    def remove(self) -> None:
        self.frames.close()
        self.frames.path.unlink()


def merge(topics: Topics, topic: str, partition: str, offset: int) -> None:
    known = topics.setdefault(topic, {})
    known[partition] = max(offset, known.get(partition, 0))
