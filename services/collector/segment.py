"""The part of a growing dataset that is not in a shard yet: an append-only file, and what is in it."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from soliloquy.dataset.frames import Frames
from soliloquy.v1.dataset_pb2 import Collected

# By topic and partition, the offset behind the last event that was read there.
Topics = dict[str, dict[str, int]]


class Segment:
    def __init__(self, path: Path) -> None:
        self.frames = Frames(path)
        self.topics: Topics = {}
        self.bytes = 0
        self.ids: list[str] = []
        self._places: list[int] = []
        self._began = time.monotonic()
        self._writing = 0
        self._written = asyncio.Event()
        self._written.set()

    @property
    def rows(self) -> int:
        return len(self._places)

    @property
    def seconds(self) -> float:
        """How long its first conversation has been waiting; none where there is none."""
        return time.monotonic() - self._began if self._places else 0.0

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
        """Returns when nothing is being added."""
        await self._written.wait()

    def enter(self, collected: Collected, start: int) -> None:
        """What counts of it; a frame that failed to reach the disk does not, and its event comes again."""
        if not self._places:
            self._began = time.monotonic()
        self._places.append(start)
        self.ids.append(collected.id)
        self.bytes += len(collected.conversation)
        if collected.HasField("origin"):
            merge(self.topics, collected.origin.topic, str(collected.origin.partition), collected.origin.offset + 1)

    def collected(self) -> Iterator[Collected]:
        for start in self._places:
            yield Collected.FromString(self.frames.payload(start))

    def remove(self) -> None:
        self.frames.close()
        self.frames.path.unlink()


def merge(topics: Topics, topic: str, partition: str, offset: int) -> None:
    known = topics.setdefault(topic, {})
    known[partition] = max(offset, known.get(partition, 0))
