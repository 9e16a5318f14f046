"""A collector that has lost what it acknowledged reads it again from the topics, or says what is missing."""

import asyncio
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
import s3fs

from soliloquy.dataset.layout import ACCEPTED, REJECTED, ShardLimits
from soliloquy.dataset.lock import LOCK
from soliloquy.dataset.manifest import read_manifest, shards_of
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy.runtime.events import first_event
from soliloquy.runtime.reading import messages
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Ending
from soliloquy.v1.events_pb2 import ConversationCollected, ConversationFinished, RunChanged, RunProgress, RunStored
from soliloquy.v1.runs_pb2 import Run, RunState
from soliloquy_services.collector.datasets import Datasets
from soliloquy_services.collector.handler import collect
from soliloquy_services.collector.live_datasets import LiveDatasets
from soliloquy_services.collector.reconciliation import Reconciliation
from soliloquy_services.collector.settings import LiveSettings
from tests.unit.collector.collecting import conversations_in, numbered
from tests.waiting import until

RUN = numbered(0).run
# Shards of three, and the last conversation in a journal.
CONVERSATIONS = 10


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("live_datasets", "reconciliation"):
        monkeypatch.setattr(f"soliloquy_services.collector.{module}.LOOK_SECONDS", 0.05)


@dataclass(kw_only=True)
class Collector:
    """A collector without its stage: no group reads the topics, which therefore keep their events."""

    transport: Transport
    datasets: Datasets
    reconciliation: Reconciliation
    progress: RunProgress = field(default_factory=RunProgress)

    async def finish(self, *ordinals: int) -> None:
        made = [numbered(ordinal) for ordinal in ordinals]
        for one in made[::3]:
            one.ending = Ending.ENDING_TURN_LIMIT
        events = [first_event(ConversationFinished(conversation=one), source="test", time=1.0) for one in made]
        await self.transport.publish(events)

    async def collect(self) -> None:
        """Collects all that is finished, once more what was collected before."""
        self.progress = RunProgress()
        async for delivery, message in messages(self.transport.read("conversation.finished")):
            assert isinstance(message, ConversationFinished)
            [collected] = await collect(message, delivery, self.datasets)
            assert isinstance(collected, ConversationCollected)
            await self.transport.publish([first_event(collected, source="test", time=1.0)])
            self.progress.accepted += collected.accepted
            self.progress.rejected += not collected.accepted

    async def over(self) -> tuple[int, int]:
        """The conversations that are announced to be in the dataset, and lost, when the counts of the run are final."""
        await self.tell(RUN, self.progress)
        async for _, stored in messages(self.transport.follow("run.stored")):
            assert isinstance(stored, RunStored)
            if stored.conversations + stored.lost >= self.progress.accepted + self.progress.rejected:
                return stored.conversations, stored.lost
        raise AssertionError("a topic that is followed does not end")

    async def tell(self, run: Run, progress: RunProgress) -> None:
        changed = RunChanged(run=run, state=RunState.RUN_STATE_RUNNING, progress=progress)
        await self.transport.publish([first_event(changed, source="test", time=1.0)])


@asynccontextmanager
async def collecting(folder: Path, *, seconds: float = 600.0, store: str = "") -> AsyncIterator[Collector]:
    settings = LiveSettings(data=folder / "data", store=store, shard_seconds=seconds, limits=ShardLimits(rows=3))
    async with (
        EmbeddedTransport(folder / "log.sqlite") as transport,
        LiveDatasets(settings) as datasets,
        reconciled(datasets, transport) as reconciliation,
    ):
        await until(lambda: not datasets.unread)
        yield Collector(transport=transport, datasets=datasets, reconciliation=reconciliation)


@asynccontextmanager
async def reconciled(datasets: Datasets, transport: Transport) -> AsyncIterator[Reconciliation]:
    reconciliation = Reconciliation(datasets, transport)
    reconciling = asyncio.create_task(reconciliation.run())
    try:
        yield reconciliation
    finally:
        reconciling.cancel()
        await asyncio.wait([reconciling])


def held(run: Path | str) -> Counter[str]:
    """The conversations in a dataset, which must be sound."""
    place = Storage(run)
    assert list(findings(place)) == []
    return Counter(one.id for kind in (ACCEPTED, REJECTED) for one in conversations_in(place, kind))


def once(conversations: int) -> Counter[str]:
    return Counter(numbered(ordinal).id for ordinal in range(conversations))


def remove(*paths: Path) -> None:
    """As a user does, whatever the collector writes meanwhile."""
    subprocess.run(["rm", "-rf", *paths], check=False, capture_output=True)


HARMS: dict[str, Callable[[Path], None]] = {
    "volume": lambda run: remove(*run.parent.iterdir()),
    "the folder of volumes": lambda run: remove(run.parent),
    "dataset": remove,
    "all accepted": lambda run: remove(run / "accepted"),
    "one accepted": lambda run: remove(run / "accepted/00001.parquet"),
    "one rejected": lambda run: remove(run / "rejected/00000.parquet"),
    "one of timings": lambda run: remove(run / "timings/00001.parquet"),
    "manifest": lambda run: remove(run / "manifest.json"),
    "journals": lambda run: remove(run / ".run"),
}


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("more", [pytest.param(0, marks=pytest.mark.thorough), 4])
async def test_what_a_running_collector_loses_is_read_again(tmp_path: Path, harm: str, more: int) -> None:
    run = tmp_path / "data" / RUN.id
    async with collecting(tmp_path) as collector:
        await collector.finish(*range(CONVERSATIONS))
        await collector.collect()
        await until(lambda: len([*run.glob("timings/*")]) == 3)
        HARMS[harm](run)
        await collector.finish(*range(CONVERSATIONS, CONVERSATIONS + more))
        await collector.collect()
        assert await collector.over() == (CONVERSATIONS + more, 0)
        assert held(tmp_path / "data" / RUN.id) == once(CONVERSATIONS + more)


@pytest.mark.parametrize("harm", HARMS)
async def test_what_is_removed_while_no_collector_runs_is_read_again(tmp_path: Path, harm: str) -> None:
    run = tmp_path / "data" / RUN.id
    async with collecting(tmp_path) as collector:
        await collector.finish(*range(CONVERSATIONS))
        await collector.collect()
    HARMS[harm](run)
    async with collecting(tmp_path) as restarted:
        restarted.progress.CopyFrom(collector.progress)
        assert await restarted.over() == (CONVERSATIONS, 0)
    assert held(tmp_path / "data" / RUN.id) == once(CONVERSATIONS)


async def test_a_run_that_nobody_ends_is_read_again_when_its_folder_or_volume_is_gone(tmp_path: Path) -> None:
    run = tmp_path / "data" / RUN.id
    async with collecting(tmp_path, seconds=0.0) as collector:
        for more, lost in enumerate((run, run.parent)):
            await collector.finish(*range(CONVERSATIONS + more))
            await collector.collect()
            await until(lambda: (run / "manifest.json").exists())
            remove(lost)
            await collector.finish(CONVERSATIONS + more)
            await collector.collect()
            await until(partial(holds, run, CONVERSATIONS + more + 1))
    assert held(run) == once(CONVERSATIONS + 2)


def holds(run: Path, conversations: int) -> bool:
    manifest = read_manifest(Storage(run))
    found = shards_of(manifest, ACCEPTED, REJECTED) if manifest else []
    return sum(shard.rows for shard in found) == conversations


async def test_what_an_object_store_loses_is_read_again(tmp_path: Path, bucket: str) -> None:
    store, files = f"{bucket}/datasets", s3fs.S3FileSystem()
    async with collecting(tmp_path, store=store) as collector:
        await collector.finish(*range(CONVERSATIONS))
        await collector.collect()
        await until(lambda: read_manifest(Storage(f"{store}/{RUN.id}")))
        files.invalidate_cache()
        files.rm(store, recursive=True)
        await until(lambda: Storage(store).read(LOCK))
        assert await collector.over() == (CONVERSATIONS, 0)
    assert held(f"{store}/{RUN.id}") == once(CONVERSATIONS)


async def test_a_dataset_that_was_complete_is_left_alone_afterwards(tmp_path: Path) -> None:
    run = tmp_path / "data" / RUN.id
    async with collecting(tmp_path) as collector:
        await collector.finish(*range(CONVERSATIONS))
        await collector.collect()
        await collector.over()
    remove(run)
    async with collecting(tmp_path) as restarted:
        # Another run is compared, after that one.
        await restarted.tell(Run(id="other"), RunProgress(accepted=1))
        await until(partial(is_lost, restarted.transport, "other"))
    assert not run.exists()


async def test_a_dataset_that_cannot_be_read_is_named_and_holds_up_no_other(tmp_path: Path) -> None:
    damaged = tmp_path / "data" / "other"
    async with collecting(tmp_path) as collector:
        damaged.mkdir()
        (damaged / "manifest.json").write_text("{", "utf-8")
        await collector.tell(Run(id="other"), RunProgress(accepted=1))
        await collector.finish(*range(CONVERSATIONS))
        await collector.collect()
        assert await collector.over() == (CONVERSATIONS, 0)
        await until(lambda: collector.reconciliation.fault)
    why = f"collector: other cannot be completed ({damaged}/manifest.json cannot be read"
    assert collector.reconciliation.fault.startswith(why)


async def is_lost(transport: Transport, run: str) -> bool:
    stored = [message async for _, message in messages(transport.read("run.stored"))]
    return RunStored(run=Run(id=run), lost=1) in stored


async def test_what_the_topics_no_longer_hold_is_told_with_run_folder_number_and_topic(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "data" / RUN.id
    async with collecting(tmp_path) as collector:
        await collector.finish(*range(CONVERSATIONS))
        await collector.collect()
        await until(lambda: len([*run.glob("timings/*")]) == 3)
        # As a topic's retention does.
        with closing(sqlite3.connect(tmp_path / "log.sqlite")) as log, log:
            log.execute("DELETE FROM event WHERE topic = 'conversation.finished'")
        remove(run / "accepted/00000.parquet")
        kept, lost = await collector.over()
        assert (kept + lost, lost) == (CONVERSATIONS, 2)
        assert sum(held(tmp_path / "data" / RUN.id).values()) == kept
    line = f"{run} lacks 2 of {CONVERSATIONS} conversations, which conversation.finished no longer holds"
    assert line in caplog.messages


async def test_a_collector_with_a_new_folder_reads_no_deleted_run_again(tmp_path: Path) -> None:
    dataset = tmp_path / "data" / RUN.id
    async with collecting(tmp_path) as collector:
        await collector.finish(*range(4))
        await collector.collect()
        assert await collector.over() == (4, 0)
        deleted = RunChanged(run=Run(id=RUN.id, growing=RUN.growing), state=RunState.RUN_STATE_DELETED)
        await collector.transport.publish([first_event(deleted, source="test", time=2.0)])
        await until(lambda: not dataset.exists())
    shutil.rmtree(tmp_path / "data")
    async with collecting(tmp_path) as collector:
        # Once more, when it has heard of the deletion for long.
        (tmp_path / "data" / "unread").touch()
        await until(lambda: not collector.datasets.unread)
    assert not dataset.exists()
