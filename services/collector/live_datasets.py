"""Stores the conversations of any number of runs, in a dataset for each execution of a run."""

import asyncio
import contextlib
from collections import Counter, OrderedDict
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from soliloquy.dataset.layout import WORKING
from soliloquy.dataset.lock import write_lock
from soliloquy.dataset.storage import Storage
from soliloquy.runtime.events import run_key
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import RunChanged
from soliloquy.v1.runs_pb2 import Run, RunState
from soliloquy_services.collector.metrics import BLOCKED
from soliloquy_services.collector.settings import LiveSettings

if TYPE_CHECKING:
    from soliloquy_services.collector.live import LiveDataset

# The most datasets kept open; the least recently used is closed first.
OPEN_DATASETS = 64
LOOK_SECONDS = 1.0
# The pause after a failed write.
PAUSE_SECONDS = 5.0
_OVER = (RunState.RUN_STATE_CANCELLED, RunState.RUN_STATE_FINISHED, RunState.RUN_STATE_SHORT)


class LiveDatasets:
    """Only one process at a time can enter it."""

    def __init__(self, settings: LiveSettings) -> None:
        self._settings = settings
        self._open: OrderedDict[str, LiveDataset] = OrderedDict()
        self._opening = asyncio.Lock()
        # The runs that are over and may have conversations in no shard.
        self._over: dict[str, Run] = {}
        self._stopping = False
        # Set when there is something to do before the next look.
        self._woken = asyncio.Event()
        self._adding: Counter[str] = Counter()
        self._held = ExitStack()
        # The reason why shards cannot be written; empty while they can.
        self.fault = ""

    async def __aenter__(self) -> Self:
        """Raises OSError for a folder that cannot be written, and Locked while another collector writes it."""
        settings = self._settings
        settings.data.mkdir(parents=True, exist_ok=True)
        self._held.enter_context(write_lock(Storage(settings.store or settings.data), settings.data))
        BLOCKED.set_function(lambda: float(bool(self.fault)))
        self._rolling = asyncio.create_task(self._roll_always())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping = True
        self._woken.set()
        # If this is cancelled, the lock stays until the process ends, since a shard may still be being written.
        await asyncio.wait([self._rolling])
        # The next start writes what fails here.
        await self._roll(after=0.0)
        for dataset in self._open.values():
            dataset.close()
        self._held.close()

    async def add(self, conversation: Conversation, faults: list[str], origin: Origin | None = None) -> None:
        growing = run_key(conversation.run)
        self._adding[growing] += 1
        try:
            dataset = await self._dataset(conversation.run)
            await dataset.add(conversation, faults, origin)
        finally:
            self._adding[growing] -= 1

    def run_changed(self, changed: RunChanged) -> None:
        """Writes the shards of a run that is over at once."""
        if changed.state in _OVER:
            self._over[run_key(changed.run)] = changed.run
            self._woken.set()

    async def _dataset(self, run: Run) -> "LiveDataset":
        growing, settings = run_key(run), self._settings
        if growing not in self._open:
            async with self._opening:
                if growing not in self._open:
                    place = Storage(f"{settings.store or settings.data}/{growing}")
                    working = settings.data / growing / WORKING
                    # Imported here so that a start without conversations does not load Arrow.
                    from soliloquy_services.collector.live import LiveDataset

                    self._open[growing] = await asyncio.to_thread(LiveDataset, place, working, run, settings.limits)
        self._open.move_to_end(growing)
        return self._open[growing]

    async def _roll_always(self) -> None:
        while not self._stopping:
            self._woken.clear()
            unopened = await self._reopen()
            self.fault = await self._roll(self._settings.shard_seconds) or unopened
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_SECONDS if self.fault else LOOK_SECONDS):
                    await self._woken.wait()

    async def _reopen(self) -> str:
        """Opens the datasets of runs that were over before their last shards were written."""
        fault = ""
        for growing, run in list(self._over.items()):
            segments = (self._settings.data / growing / WORKING).glob("journal-*")
            if growing not in self._open and not any(segment.stat().st_size for segment in segments):
                del self._over[growing]
                continue
            try:
                await self._dataset(run)
            except Exception as error:
                # Any error: the other datasets are written all the same.
                fault = f"collector: a dataset cannot be opened ({error})"
        return fault

    async def _roll(self, after: float) -> str:
        """Rolls every dataset; returns the last error, which does not stop the others."""
        fault = ""
        for number, (growing, dataset) in enumerate(reversed(list(self._open.items()))):
            is_surplus = number >= OPEN_DATASETS
            dataset.cut_after(0.0 if is_surplus or growing in self._over else after)
            try:
                await dataset.roll()
            except Exception as error:
                # Any error: the segments keep new conversations, and readiness reports it.
                fault = f"collector: no shard can be written ({error})"
            if dataset.is_idle and not self._adding[growing]:
                self._over.pop(growing, None)
            if is_surplus and dataset.is_idle and not self._adding[growing]:
                self._open.pop(growing).close()
                del self._adding[growing]
        return fault
