"""A collector that has lost what it acknowledged reads it again from the topics, or says what is missing."""

import asyncio
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from soliloquy.dataset.layout import REJECTED, ShardLimits
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from soliloquy.runtime.events import first_event
from soliloquy.runtime.reading import messages
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Ending
from soliloquy.v1.events_pb2 import ConversationCollected, ConversationFinished, RunChanged, RunProgress, RunStored
from soliloquy.v1.runs_pb2 import RunState
from soliloquy_services.collector.handler import collect
from soliloquy_services.collector.live_datasets import LiveDatasets
from soliloquy_services.collector.reconciliation import Reconciliation
from soliloquy_services.collector.settings import LiveSettings
from tests.unit.collector.collecting import conversations_in, numbered
from tests.waiting import until

RUN = numbered(0).run
# Shards of three, and the last conversation in a journal.
CONVERSATIONS = 10


@dataclass(kw_only=True)
class Collector:
    """A collector without its stage: no group reads the topics, which therefore keep their events."""

    transport: Transport
    datasets: LiveDatasets
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
        changed = RunChanged(run=RUN, state=RunState.RUN_STATE_RUNNING, progress=self.progress)
        await self.transport.publish([first_event(changed, source="test", time=1.0)])
        async for _, stored in messages(self.transport.follow("run.stored")):
            assert isinstance(stored, RunStored)
            if stored.conversations + stored.lost >= self.progress.accepted + self.progress.rejected:
                return stored.conversations, stored.lost
        raise AssertionError("a topic that is followed does not end")


@asynccontextmanager
async def collecting(folder: Path, *, seconds: float = 600.0) -> AsyncIterator[Collector]:
    settings = LiveSettings(data=folder / "data", shard_seconds=seconds, limits=ShardLimits(rows=3))
    async with EmbeddedTransport(folder / "log.sqlite") as transport, LiveDatasets(settings) as datasets:
        reconciling = asyncio.create_task(Reconciliation(datasets, transport).run())
        await until(lambda: not datasets.unread.exists())
        yield Collector(transport=transport, datasets=datasets)
        reconciling.cancel()


def held(folder: Path) -> Counter[str]:
    place = Storage(folder / "data" / RUN.id)
    assert list(findings(place)) == []
    return Counter(one.id for kind in ("accepted", REJECTED) for one in conversations_in(place, kind))


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
@pytest.mark.parametrize("more", [0, 4])
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
        assert held(tmp_path) == once(CONVERSATIONS + more)
