"""A dataset that grows with its run: rolled into shards by size and time, in the order of arrival."""

import asyncio
import time
from collections import deque
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from services.collector.journal import collected_now
from services.collector.segment import Segment, Topics, merge
from soliloquy.dataset.ids import IdSet
from soliloquy.dataset.layout import ACCEPTED, KINDS, REJECTED, ShardLimits
from soliloquy.dataset.manifest import Shard, read_manifest, shards_of, versions, write_manifest
from soliloquy.dataset.shards import DatasetWriter, remove_leftovers
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.recipes.recipe import find
from soliloquy.runtime.traces import spans
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected, Origin
from soliloquy.v1.runs_pb2 import Run


class DamagedShard(OSError):
    """Which conversations are there cannot be known; the message names the shard."""


class LiveDataset:
    """A conversation counts once it is on the disk: first in a segment, then in a shard and no longer in a segment."""

    def __init__(self, place: Storage, working: Path, run: Run, limits: ShardLimits) -> None:
        self._place = place
        self._working = working
        self._run = run
        self._limits = limits
        self._ids = IdSet()
        self._enriched: set[str] = set()
        self._shards: list[Shard] = []
        self._counts = Tally().as_json()
        self._topics: Topics = {}
        self._duplicates = 0
        # Those before it are in shards.
        self._first_segment = 0
        self._working.mkdir(parents=True, exist_ok=True)
        if manifest := read_manifest(place):
            self._recall_shards(manifest)
        remove_leftovers(place, self._shards)
        self._full: deque[Segment] = deque()
        self._segment = self._recall_segments()

    @property
    def is_idle(self) -> bool:
        """Whether all is in shards."""
        return not self._full and not self._segment.rows

    async def add(self, conversation: Conversation, faults: list[str], origin: Origin | None) -> None:
        if conversation.id in self._ids:
            self._duplicates += 1
            return
        collected = collected_now(conversation, faults, origin)
        if self._segment.rows >= self._limits.rows or self._segment.bytes >= self._limits.bytes:
            self._cut()
        segment = self._segment
        with segment.being_written():
            start = await segment.frames.append(collected.SerializeToString())
            self._enter(segment, collected, start)

    def cut_after(self, seconds: float) -> None:
        """Has what has waited so long rolled next."""
        if self._segment.rows and self._segment.seconds >= seconds:
            self._cut()

    async def roll(self) -> None:
        """Writes the shards of what is full, and then the manifest; only then is it dropped."""
        while self._full:
            segment = self._full[0]
            await segment.written()
            began = time.time()
            manifest, shards, enriched = await asyncio.to_thread(self._write, segment)
            spans.record_batch("collector", "collector shards", segment.ids, began, run=self._run.id, rows=segment.rows)
            self._take_up(manifest, shards)
            self._enriched |= enriched
            self._full.popleft().remove()

    def close(self) -> None:
        for segment in (*self._full, self._segment):
            segment.frames.close()

    def _cut(self) -> None:
        self._full.append(self._segment)
        self._segment = self._open(self._first_segment + len(self._full))

    def _write(self, segment: Segment) -> tuple[dict[str, Any], list[Shard], set[str]]:
        tally = Tally.from_json(self._counts, self._enriched)
        writer = DatasetWriter(self._place, self._working, self._shards, self._limits, tally)
        for collected in segment.collected():
            writer.add(collected)
        shards = self._shards + writer.close()
        topics = deepcopy(self._topics)
        for topic, offsets in segment.topics.items():
            for partition, offset in offsets.items():
                merge(topics, topic, partition, offset)
        manifest = {
            "run": self._identity(),
            "counts": tally.as_json(),
            # What a token costs, only who drives the run knows.
            "cost": {},
            "arrival": {"duplicates": self._duplicates, "topics": topics, "segments": self._first_segment + 1},
        }
        write_manifest(self._place, manifest, shards)
        return manifest, shards, tally.enriched

    def _identity(self) -> dict[str, Any]:
        run = self._run
        return {
            "run": run.id,
            "growing": run.growing,
            "recipe": run.recipe,
            "seed": run.seed,
            "max_turns": run.max_turns,
            "max_attempts": run.max_attempts,
            "enrich": run.enrich,
            "classifiers_sha256": run.classifiers,
            "prompts_sha256": find(run.recipe).fingerprints(),
            **versions(),
        }

    def _take_up(self, manifest: dict[str, Any], shards: list[Shard]) -> None:
        self._shards = shards
        self._counts = manifest["counts"]
        self._topics = manifest["arrival"]["topics"]
        self._first_segment = manifest["arrival"]["segments"]

    def _recall_shards(self, manifest: dict[str, Any]) -> None:
        self._take_up(manifest, shards_of(manifest, *KINDS))
        self._duplicates = manifest["arrival"]["duplicates"]
        wanted = ["id", "problem.id", "problem.enrichment.plain_because"]
        for shard in shards_of(manifest, ACCEPTED, REJECTED):
            try:
                with self._place.opened(shard.name) as file:
                    for batch in pq.ParquetFile(file).iter_batches(columns=wanted):
                        self._recall(batch)
            except pa.ArrowException as error:
                raise DamagedShard(f"{self._place}/{shard.name} is damaged ({error})") from error

    def _recall(self, batch: pa.RecordBatch) -> None:
        for conversation_id in batch["id"].to_pylist():
            self._ids.add(conversation_id)
        problems = batch["problem"]
        enriched = problems.filter(pc.is_valid(problems.field("enrichment")))
        self._enriched.update(enriched.field("id").to_pylist())

    def _recall_segments(self) -> Segment:
        """Those of an earlier start, and the one that is written next."""
        numbers = sorted(int(path.name.partition("-")[2]) for path in self._working.glob("journal-*"))
        for number in numbers:
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

    def _open(self, number: int) -> Segment:
        return Segment(self._path(number))

    def _path(self, number: int) -> Path:
        return self._working / f"journal-{number:08}"
