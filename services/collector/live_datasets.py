"""Stores the conversations of any number of runs, in a dataset for each execution of a run."""

import asyncio
import contextlib
import logging
import shutil
from collections import Counter, OrderedDict
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from soliloquy.dataset.layout import KINDS, PROMPTS, TIMED, WORKING
from soliloquy.dataset.lock import FOLDER_LOCK, write_lock
from soliloquy.dataset.manifest import MANIFEST, first_missing, forgotten_in, read_manifest, shards_of
from soliloquy.dataset.record import write_record
from soliloquy.dataset.storage import Storage
from soliloquy.runtime.events import run_key
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import RunChanged, ServiceDescribed
from soliloquy.v1.runs_pb2 import Run, RunState
from soliloquy_services.collector.metrics import BLOCKED
from soliloquy_services.collector.settings import IN_FLIGHT, LiveSettings

if TYPE_CHECKING:
    from soliloquy_services.collector.live import LiveDataset

# The most datasets kept open; the least recently used is closed first.
OPEN_DATASETS = 64
LOOK_SECONDS = 1.0
# The pause after a failed write.
PAUSE_SECONDS = 5.0

_log = logging.getLogger(__name__)


class LiveDatasets:
    """Only one process at a time can enter it."""

    in_flight = IN_FLIGHT

    def __init__(self, settings: LiveSettings) -> None:
        self._settings = settings
        self._at = settings.store or str(settings.data)
        self._open: OrderedDict[str, LiveDataset] = OrderedDict()
        self._opening = asyncio.Lock()
        # Keeps a dataset that is being written from removal.
        self._turn = asyncio.Lock()
        # The runs whose conversations are written at once.
        self._ending: set[str] = set()
        self._stopping = False
        # Set when there is something to do before the next look.
        self._woken = asyncio.Event()
        self._adding: Counter[str] = Counter()
        self._held = ExitStack()
        # There while what the topics hold is still to be read again: the folder is new, or somebody emptied it.
        self._unread = settings.data / "unread"
        # The datasets that have lost something: those to be opened again, and those to be read again since.
        self._lossy: set[str] = set()
        self.damaged: set[str] = set()
        # The reason why shards cannot be written; empty while they can.
        self.fault = ""
        self.services: dict[str, ServiceDescribed] = {}
        # A lock keeps others from a folder.
        self.installation = ""

    async def __aenter__(self) -> Self:
        """Raises OSError for a folder that cannot be written, and Locked while another collector writes it."""
        self._lock(anew=False)
        BLOCKED.set_function(lambda: float(bool(self.fault)))
        self._rolling = asyncio.create_task(self._roll_always())
        return self

    def _lock(self, *, anew: bool) -> None:
        data = self._settings.data
        data.mkdir(parents=True, exist_ok=True)
        if anew or not (data / FOLDER_LOCK).exists():
            self._unread.touch()
        self._is_locked = self._held.enter_context(write_lock(Storage(self._at), data))

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

    async def add(
        self, conversation: Conversation, faults: list[str], origin: Origin | None = None, lineage: str = ""
    ) -> None:
        growing = run_key(conversation.run)
        self._adding[growing] += 1
        try:
            dataset = await self._dataset(conversation.run)
            await dataset.add(conversation, faults, origin, lineage)
        finally:
            self._adding[growing] -= 1

    async def holds(self, conversation: Conversation) -> bool:
        return conversation.id in await self._dataset(conversation.run)

    async def written(self, run: Run) -> int | None:
        """Counts the conversations in the shards of a run; None while some are in none, which are written at once."""
        growing = run_key(run)
        journals = (self._settings.data / growing / WORKING).glob("journal-*")
        dataset = None
        if growing in self._open or any(journal.stat().st_size for journal in journals):
            dataset = await self._dataset(run)
            if not dataset.is_idle or self._adding[growing]:
                self._ending.add(growing)
                self._woken.set()
                return None
        shards = dataset.shards if dataset else []
        manifest = await asyncio.to_thread(read_manifest, self.place(growing)) or {"shards": [], "arrival": {}}
        found = shards_of(manifest, *KINDS)
        gone = await asyncio.to_thread(first_missing, self.place(growing), shards_of(manifest, *KINDS, PROMPTS))
        if dataset and dataset.shards is not shards:
            # It has written more meanwhile.
            return None
        if not gone and (dataset is None or shards == found):
            return sum(shard.rows for shard in found if shard.kind != TIMED) + len(forgotten_in(manifest))
        if dataset:
            self._lossy.add(growing)
            self._woken.set()
        else:
            await self._dataset(run)
        return None

    async def record(self, changed: RunChanged) -> None:
        """Keeps the request and the state of a run beside its dataset; removes the dataset of a run that is deleted."""
        growing = run_key(changed.run)
        if changed.state != RunState.RUN_STATE_DELETED:
            await asyncio.to_thread(write_record, self.place(growing), changed)
            return
        # Nothing is added to it any more: its run was over.
        async with self._turn:
            if dataset := self._open.pop(growing, None):
                dataset.close()
            await asyncio.to_thread(self._remove, growing)

    def _remove(self, growing: str) -> None:
        place = self.place(growing)
        # A dataset without its manifest holds nothing, wherever a kill ends this.
        if place.read(MANIFEST) is not None:
            place.remove(MANIFEST)
        with contextlib.suppress(FileNotFoundError):
            place.remove_all()
        shutil.rmtree(self._settings.data / growing, ignore_errors=True)

    @property
    def unread(self) -> str:
        return str(self._unread.stat().st_mtime_ns) if self._unread.exists() else ""

    async def mark_read(self, mark: str) -> None:
        if self.unread == mark:
            self._unread.unlink(missing_ok=True)

    def place(self, growing: str) -> Storage:
        return Storage(f"{self._at}/{growing}")

    async def _dataset(self, run: Run) -> "LiveDataset":
        growing = run_key(run)
        if growing not in self._open:
            async with self._opening:
                if growing not in self._open:
                    self._open[growing] = await self._opened(run)
        self._open.move_to_end(growing)
        return self._open[growing]

    async def _opened(self, run: Run) -> "LiveDataset":
        # Imported here so that a start without conversations does not load Arrow.
        from soliloquy_services.collector.live import LiveDataset

        growing = run_key(run)
        working = self._settings.data / growing / WORKING
        return await asyncio.to_thread(
            LiveDataset, self.place(growing), working, run, self._settings.limits, self.services
        )

    async def _reopen(self, growing: str) -> None:
        """Opens a dataset again from what is left of it."""
        async with self._opening:
            left = self._open.pop(growing)
            try:
                await left.leave()
                opened = await self._opened(left.run)
            except BaseException:
                self._open[growing] = left
                raise
            self._open[growing] = opened
        self._lossy.discard(growing)
        self.damaged.add(growing)
        await opened.take_over(left)

    async def _roll_always(self) -> None:
        while not self._stopping:
            self._woken.clear()
            async with self._turn:
                self.fault = await self._roll(self._settings.shard_seconds)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_SECONDS if self.fault else LOOK_SECONDS):
                    await self._woken.wait()

    async def _roll(self, after: float) -> str:
        """Rolls every dataset; returns the last error, which does not stop the others."""
        fault = ""
        try:
            await self._keep_locked()
        except Exception as error:
            # Any error: the segments keep new conversations, and readiness reports it.
            fault = f"collector: its folder cannot be locked again ({error})"
        for number, (growing, dataset) in enumerate(reversed(list(self._open.items()))):
            is_surplus = number >= OPEN_DATASETS
            dataset.cut_after(0.0 if is_surplus or growing in self._ending else after)
            try:
                if growing in self._lossy or await dataset.roll():
                    await self._reopen(growing)
                    continue
            except Exception as error:
                fault = f"collector: no shard can be written ({error})"
            if not dataset.is_idle or self._adding[growing]:
                continue
            self._ending.discard(growing)
            if is_surplus:
                self._open.pop(growing).close()
                del self._adding[growing]
        return fault

    async def _keep_locked(self) -> None:
        """Takes the lock again after somebody deleted it, with all that it protects."""
        # A store is asked while something waits for it.
        waits = self._settings.store == "" or any(not dataset.is_idle for dataset in self._open.values())
        if not waits or await asyncio.to_thread(self._is_locked):
            return
        self._held.close()
        self._is_locked = lambda: False
        self._lock(anew=True)
        _log.error("%s was emptied: all that the topics hold is read again", self._at)
        self._lossy |= self._open.keys()
