"""Collects finished conversations into shards and verifies them, and measures parts of that work alone."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.command import Tell
from benchmarks.processes import own_resident_mib
from soliloquy.dataset.layout import ACCEPTED, ShardLimits
from soliloquy.dataset.rows import rows, schema
from soliloquy.dataset.shards import GROUP_ROWS
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy.recipes.packages import DEFAULT
from soliloquy.runtime.events import first_event, run_key
from soliloquy.runtime.transports.port import Delivery, Partition
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy_services.collector.datasets import datasets_of
from soliloquy_services.collector.handler import Store, collect
from soliloquy_services.collector.settings import LiveSettings

# The collector records where it read a conversation; here all have the same place.
_PARTITION = Partition("conversation.finished", 0)
_ORIGIN = Origin(topic=_PARTITION.topic)
_EVENT = first_event(ConversationFinished(), source="benchmark", time=0.0)
# Memory is sampled this often over a long run.
SAMPLES = 40
# Small enough for a short run to write several shards of each kind.
_LONG_LIMITS = ShardLimits(rows=5_000)


class WrongDataset(Exception):
    """The collected dataset is not what was published."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedLog:
    """A log of serialised events: the same few conversations again and again, each time with another id."""

    conversations: Sequence[Conversation]

    def events(self, number: int, first: int = 0, step: int = 1) -> Iterator[bytes]:
        for place in range(first, number, step):
            message = ConversationFinished(conversation=self.conversations[place % len(self.conversations)])
            message.conversation.id = message.conversation.problem.id = f"{place:024x}"
            message.conversation.ordinal = place
            yield message.SerializeToString()


async def collected(folder: Path, log: FinishedLog, number: int, *, judged: bool) -> dict[str, float]:
    """Returns how many conversations a core collects and verifies in a second."""
    events = list(log.events(number))
    wall, cpu = time.perf_counter(), time.process_time()
    settings = LiveSettings(data=folder)
    await collect_all(settings, iter(events), judged=judged)
    place = Storage(folder / run_key(log.conversations[0].run))
    verifying = time.process_time()
    if found := list(findings(place)):
        raise WrongDataset(found[0])
    ended = time.process_time()
    return {
        "per_cpu_second": number / (ended - cpu),
        "per_second": number / (time.perf_counter() - wall),
        "of_it_verifying": (ended - verifying) / (ended - cpu),
    }


async def memory(folder: Path, log: FinishedLog, number: int, tell: Tell) -> dict[str, float]:
    """Returns the resident memory at the end of a long run, and its growth in the second half."""
    samples: list[float] = []

    def sampled() -> Iterator[bytes]:
        for place, event in enumerate(log.events(number)):
            if place % max(1, number // SAMPLES) == 0:
                samples.append(own_resident_mib())
                tell(f"{place:,} of {number:,} conversations, {samples[-1]:.0f} MiB")
            yield event

    await collect_all(LiveSettings(data=folder, limits=_LONG_LIMITS), sampled(), judged=False)
    middle, end = max(samples[: len(samples) // 2]), max(samples[len(samples) // 2 :])
    return {"rss_mib": end, "rss_growth": end / middle}


def bare(folder: Path, log: FinishedLog, number: int) -> dict[str, float]:
    """Writes rows that are in memory with pyarrow alone."""
    serialised = [
        ConversationFinished.FromString(event).conversation.SerializeToString() for event in log.events(number)
    ]
    groups = [rows(serialised[start : start + GROUP_ROWS], DEFAULT) for start in range(0, number, GROUP_ROWS)]
    cpu = time.process_time()
    with pq.ParquetWriter(folder / "bare.parquet", schema(DEFAULT), compression="zstd") as writer:
        for group in groups:
            writer.write_batch(group)
    return {"per_cpu_second": number / (time.process_time() - cpu)}


def read(folder: Path) -> dict[str, float]:
    """Reads the first shard of accepted conversations."""
    [shard, *_] = sorted(folder.glob(f"*/{ACCEPTED}/*.parquet"))
    began = time.perf_counter()
    table: pa.Table = pq.read_table(shard)
    return {"rows": table.num_rows, "seconds": time.perf_counter() - began, "mib": shard.stat().st_size / 1024**2}


async def collect_all(settings: LiveSettings, events: Iterator[bytes], *, judged: bool) -> None:
    async with datasets_of(settings) as datasets, asyncio.TaskGroup() as tasks:
        for _ in range(datasets.in_flight):
            tasks.create_task(_take(events, datasets, judged=judged))


async def _take(events: Iterator[bytes], store: Store, *, judged: bool) -> None:
    for event in events:
        message = ConversationFinished.FromString(event)
        if judged:
            await collect(message, Delivery(event=_EVENT, partition=_PARTITION, offset=0), store)
        else:
            await store.add(message.conversation, [], _ORIGIN)
