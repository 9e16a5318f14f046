"""What a collector that serves any number of runs stores: a dataset for each growing of a run, while it grows."""

import asyncio
import contextlib
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Self

from services.collector import metrics
from services.collector.settings import LiveSettings
from soliloquy.dataset.lock import write_lock
from soliloquy.dataset.storage import Storage
from soliloquy.runtime.events import run_key
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.runs_pb2 import Run

if TYPE_CHECKING:
    from services.collector.live import LiveDataset

WORKING = ".run"
# Datasets kept open; one that was not added to for the longest time is closed for another.
OPEN_DATASETS = 64
LOOK_SECONDS = 1.0
# Between two tries at a place that does not take what it should.
PAUSE_SECONDS = 5.0
# What a collector of the first format kept.
_FIRST_FORMAT = "*/journal.jsonl"


class OtherVersion(Exception):
    """What is there is an earlier version's; the message names it."""


class LiveDatasets:
    """Entered by one process at a time."""

    def __init__(self, settings: LiveSettings) -> None:
        self._settings = settings
        self._open: OrderedDict[str, LiveDataset] = OrderedDict()
        self._opening = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._adding: Counter[str] = Counter()
        self._held = ExitStack()
        # Why shards cannot be written at the moment; empty while they can.
        self.fault = ""

    async def __aenter__(self) -> Self:
        """Raises OSError for a folder that cannot be written, and Locked where another collector writes."""
        settings = self._settings
        settings.data.mkdir(parents=True, exist_ok=True)
        for old in settings.data.glob(_FIRST_FORMAT):
            raise OtherVersion(f"{old} is of an earlier version")
        self._held.enter_context(write_lock(Storage(settings.store or settings.data), settings.data))
        metrics.BLOCKED.set_function(lambda: float(bool(self.fault)))
        self._rolling = asyncio.create_task(self._roll_always())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping.set()
        # Whoever has no time for it keeps the lock until the process ends: a shard may still be written meanwhile.
        await asyncio.wait([self._rolling])
        # What cannot be written now is taken up at the next start.
        await self._roll(after=0.0)
        for dataset in self._open.values():
            dataset.close()
        self._held.close()

    async def add(self, conversation: Conversation, faults: list[str], origin: Origin | None = None) -> None:
        with self._added_to(run_key(conversation.run)):
            dataset = await self._dataset(conversation.run)
            await dataset.add(conversation, faults, origin)

    @contextmanager
    def _added_to(self, growing: str) -> Iterator[None]:
        self._adding[growing] += 1
        try:
            yield
        finally:
            self._adding[growing] -= 1

    async def _dataset(self, run: Run) -> "LiveDataset":
        growing, settings = run_key(run), self._settings
        if growing not in self._open:
            async with self._opening:
                if growing not in self._open:
                    place = Storage(f"{settings.store or settings.data}/{growing}")
                    working = settings.data / growing / WORKING
                    # Only here: whoever collects nothing does not wait for Arrow.
                    from services.collector.live import LiveDataset

                    self._open[growing] = await asyncio.to_thread(LiveDataset, place, working, run, settings.limits)
        self._open.move_to_end(growing)
        return self._open[growing]

    async def _roll_always(self) -> None:
        while not self._stopping.is_set():
            self.fault = await self._roll(self._settings.shard_seconds)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_SECONDS if self.fault else LOOK_SECONDS):
                    await self._stopping.wait()

    async def _roll(self, after: float) -> str:
        """What kept one of them from it; that holds up none of the others."""
        fault = ""
        for number, (growing, dataset) in enumerate(reversed(list(self._open.items()))):
            superfluous = number >= OPEN_DATASETS
            dataset.cut_after(0.0 if superfluous else after)
            try:
                await dataset.roll()
            except Exception as error:
                # Whatever it is: the segments keep what comes meanwhile, and the readiness says so.
                fault = f"collector: no shard can be written ({error})"
            if superfluous and dataset.is_idle and not self._adding[growing]:
                self._open.pop(growing).close()
                del self._adding[growing]
        return fault
