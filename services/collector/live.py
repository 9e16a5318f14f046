"""Writes the dataset of a run that is still going on: shards by size and time, in the order of arrival."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.frames import Frames
from soliloquy.dataset.ids import IdSet
from soliloquy.dataset.layout import ACCEPTED, KINDS, PROMPTS, REJECTED, ShardLimits
from soliloquy.dataset.lineage import NONE_KNOWN, Descriptions, counted, listed, uncounted
from soliloquy.dataset.manifest import (
    Shard,
    first_missing,
    forgotten_in,
    identity,
    read_manifest,
    services_in,
    shards_of,
    write_manifest,
)
from soliloquy.dataset.prompts import write_prompts
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.dataset.shards import DatasetWriter, remove_leftovers
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.recipes.prompts import own_texts
from soliloquy.runtime.parquet import BoundedParquetFile, TooLarge
from soliloquy.runtime.traces import spans
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected, Origin
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.collector.dataset import restore_journal
from soliloquy_services.collector.journal import collected_now

_log = logging.getLogger(__name__)
# Conversations that share a flush when they are moved.
_AT_ONCE = 256
# Shards are looked for again once there are so many times as many.
_GROWTH = 1.05

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
    def number(self) -> int:
        return number_of(self.frames.path)

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
            yield Collected.FromString(self.frames.message(start))

    def remove(self) -> None:
        self.frames.close()
        self.frames.path.unlink(missing_ok=True)


def number_of(journal: Path) -> int:
    return int(journal.name.partition("-")[2])


def merge(topics: Topics, topic: str, partition: str, offset: int) -> None:
    known = topics.setdefault(topic, {})
    known[partition] = max(offset, known.get(partition, 0))


class DamagedShard(OSError):
    """The ids of a shard cannot be read; the message names the shard."""


class LiveDataset:
    """Appends each conversation to a segment on the disk, and later moves whole segments into shards."""

    def __init__(
        self, storage: Storage, working: Path, run: Run, limits: ShardLimits, described: Descriptions = NONE_KNOWN
    ) -> None:
        """`described` holds at any moment what is known of services, by their digests."""
        self.run = run
        self._described = described
        self._storage = storage
        self._working = working
        self._limits = limits
        self._ids = IdSet()
        self._enriched: set[str] = set()
        self.shards: list[Shard] = []
        self._counts = Tally().as_json()
        self._topics: Topics = {}
        # The rows of the services that touched what is in shards.
        self._services: list[dict[str, Any]] = []
        self._duplicates = 0
        self.forgotten: list[str] = []
        # Earlier segments are in shards.
        self._first_segment = 0
        # The one written last, without its shards.
        self._manifest: dict[str, Any] = {}
        self._prompts: list[Shard] | None = None
        # The number of shards when the store was last asked whether all are there.
        self._looked_at = 0
        self._working.mkdir(parents=True, exist_ok=True)
        if manifest := read_manifest(storage):
            if gone := first_missing(storage, shards_of(manifest, *KINDS, PROMPTS)):
                _log.error("%s/%s is gone: what it held is read again from the topics", storage, gone)
                manifest = self._without_shards(manifest)
            self._restore_shards(manifest)
        remove_leftovers(storage, self.shards)
        self._full: deque[Segment] = deque()
        self._segment = self._restore_segments()

    @property
    def is_idle(self) -> bool:
        """Whether every conversation is in a shard."""
        return not self._full and not self._segment.rows

    def __contains__(self, conversation_id: str) -> bool:
        return conversation_id in self._ids

    async def add(
        self, conversation: Conversation, faults: list[str], origin: Origin | None, lineage: str = ""
    ) -> None:
        if conversation.id in self._ids:
            self._duplicates += 1
            return
        await self._append(collected_now(conversation, faults, origin, lineage))

    async def _append(self, collected: Collected) -> None:
        if self._segment.rows >= self._limits.rows or self._segment.bytes >= self._limits.bytes:
            self._cut()
        segment = self._segment
        with segment.being_written():
            start = await segment.frames.append(collected.SerializeToString())
            self._enter(segment, collected, start)

    def cut_after(self, seconds: float) -> None:
        """Closes the segment for the next roll if it has waited this long."""
        if self._segment.rows and self._segment.seconds >= seconds:
            self._cut()

    async def roll(self) -> str:
        """Writes the shards of each full segment and then the manifest, and only then deletes the segment.

        Returns the name of a shard that is gone from those written before; empty if none is.
        """
        if not self._full:
            return ""
        while self._full:
            segment = self._full[0]
            await segment.written()
            began = time.time()
            manifest, shards, enriched = await asyncio.to_thread(self._write, segment)
            spans.record_batch("collector", "collector shards", segment.ids, began, run=self.run.id, rows=segment.rows)
            self._adopt(manifest, shards)
            self._enriched |= enriched
            self._full.popleft().remove()
        # The more there are, the rarer: each look lists them all.
        if len(self.shards) < self._looked_at * _GROWTH:
            return ""
        self._looked_at = len(self.shards)
        return await asyncio.to_thread(first_missing, self._storage, self.shards)

    async def leave(self) -> None:
        """Prepares for another to open what is left: nothing is being added, and the manifest is there."""
        for segment in (*self._full, self._segment):
            await segment.written()
        if self._manifest:
            await asyncio.to_thread(self._write_manifest, self._manifest, self.shards)

    async def take_over(self, left: Self) -> None:
        """Adds what another has in no shard; the files of its journals may be gone, but it holds them open."""
        kept = (one for segment in (*left._full, left._segment) for one in segment.collected())
        while group := list(islice((one for one in kept if one.id not in self._ids), _AT_ONCE)):
            await asyncio.gather(*map(self._append, group))
        left.close()

    def close(self) -> None:
        for segment in (*self._full, self._segment):
            segment.frames.close()

    def _cut(self) -> None:
        self._full.append(self._segment)
        # Some that lay between may have been removed.
        self._segment = self._open(self._segment.number + 1)

    def _write(self, segment: Segment) -> tuple[dict[str, Any], list[Shard], set[str]]:
        tally = Tally.from_json(self._counts, self._enriched)
        writer = DatasetWriter(self._storage, self._working, self.shards, self._limits, tally)
        for collected in segment.collected():
            writer.add(collected)
        shards = self.shards + writer.close()
        topics = deepcopy(self._topics)
        for topic, offsets in segment.topics.items():
            for partition, offset in offsets.items():
                merge(topics, topic, partition, offset)
        manifest = {
            "run": identity(self.run),
            "counts": tally.as_json(),
            # Only the driver of the run knows the price of a token.
            "cost": {},
            "arrival": {
                "duplicates": self._duplicates,
                "topics": topics,
                "segments": segment.number + 1,
                "services": listed(counted(self._services, writer.services), self._described, self._services),
                **({"forgotten": self.forgotten} if self.forgotten else {}),
            },
        }
        if "lists" in self._manifest:
            manifest["lists"] = self._manifest["lists"]
        self._write_manifest(manifest, shards)
        return manifest, shards, tally.enrichments.problems

    def _write_manifest(self, manifest: dict[str, Any], shards: list[Shard]) -> None:
        if self._prompts is None:
            texts = own_texts(self.run.recipe) | dict(self.run.prompts) if self.run.prompts else {}
            self._prompts = write_prompts(self._storage, texts)
        write_manifest(self._storage, manifest, [*self._prompts, *shards])

    def _adopt(self, manifest: dict[str, Any], shards: list[Shard]) -> None:
        self._manifest = manifest
        self.shards = shards
        self._counts = manifest["counts"]
        self._topics = manifest["arrival"]["topics"]
        self._first_segment = manifest["arrival"]["segments"]
        self._services = services_in(manifest)

    def _without_shards(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Moves the rows that are left into a segment, so that counts and timings are made anew; a kill repeats it."""
        names = {name for kind in KINDS for name in self._storage.names(kind)}
        number = max((manifest["arrival"]["segments"], *(number + 1 for number in self._segment_numbers())))
        try:
            left = Dataset(self._storage.url)
            left.manifest["shards"] = [shard for shard in left.manifest["shards"] if shard["name"] in names]
            restore_journal(left, self._path(number))
        except NoDataset as error:
            raise DamagedShard(str(error)) from error
        arrival = manifest["arrival"] | {"services": uncounted(services_in(manifest))}
        manifest |= {"counts": Tally().as_json(), "arrival": arrival, "shards": []}
        manifest.pop("lists", None)
        write_manifest(self._storage, manifest, [])
        return manifest

    def _restore_shards(self, manifest: dict[str, Any]) -> None:
        self._adopt(manifest, shards_of(manifest, *KINDS))
        self._duplicates = manifest["arrival"]["duplicates"]
        self.forgotten = forgotten_in(manifest)
        for conversation_id in self.forgotten:
            self._ids.add(conversation_id)
        wanted = ["id", "problem.id", "problem.enrichment.plain_because"]
        for shard in shards_of(manifest, ACCEPTED, REJECTED):
            try:
                with self._storage.opened(shard.name) as file:
                    for batch in BoundedParquetFile(file).batches(wanted):
                        self._restore_ids(batch)
            except (pa.ArrowException, TooLarge) as error:
                raise DamagedShard(f"{self._storage}/{shard.name} is damaged ({error})") from error

    def _restore_ids(self, batch: pa.RecordBatch) -> None:
        for conversation_id in batch["id"].to_pylist():
            self._ids.add(conversation_id)
        problems = batch["problem"]
        enriched = problems.filter(pc.is_valid(problems.field("enrichment")))
        self._enriched.update(enriched.field("id").to_pylist())

    def _restore_segments(self) -> Segment:
        """Reopens the segments of an earlier start; returns the one to write to."""
        for number in self._segment_numbers():
            if number < self._first_segment:
                self._path(number).unlink()
                continue
            segment = self._open(number)
            for start, payload in segment.frames.recover():
                self._enter(segment, Collected.FromString(payload), start)
            self._full.append(segment)
        return self._full.pop() if self._full else self._open(self._first_segment)

    def _enter(self, segment: Segment, collected: Collected, start: int) -> None:
        if self._ids.add(collected.id):
            segment.enter(collected, start)
        else:
            self._duplicates += 1

    def _segment_numbers(self) -> list[int]:
        return sorted(map(number_of, self._working.glob("journal-*")))

    def _open(self, number: int) -> Segment:
        self._working.mkdir(parents=True, exist_ok=True)
        return Segment(self._path(number))

    def _path(self, number: int) -> Path:
        return self._working / f"journal-{number:08}"
