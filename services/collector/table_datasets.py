"""Stores the conversations of any number of runs in tables, beside any number of other collectors."""

import asyncio
import contextlib
import time
from asyncio import Future
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from soliloquy.dataset.iceberg.tables import Location
from soliloquy.dataset.iceberg.writing import Arrival, TableWriter
from soliloquy.dataset.manifest import UnreadableManifest
from soliloquy.dataset.storage import StorageUnavailable
from soliloquy.runtime.events import run_key
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.traces import spans
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import RunChanged, ServiceDescribed
from soliloquy.v1.runs_pb2 import Run, RunState
from soliloquy_services.collector.journal import collected_now
from soliloquy_services.collector.metrics import BLOCKED
from soliloquy_services.collector.settings import LiveSettings

T = TypeVar("T")

# The largest commit.
COMMIT_ROWS = 2048
COMMIT_BYTES = 24 * 1024**2
# The longest that a conversation waits for one: until then it has a place among those in flight of its run.
COMMIT_SECONDS = 5.0
# Before what failed is tried again.
PAUSE_SECONDS = 5.0
# Between two looks at tables to which nothing is added.
LOOK_SECONDS = 60.0


class TableDatasets:
    """A conversation is added once it is committed, so that this process keeps nothing."""

    # Each one that waits takes 50 KiB.
    in_flight = COMMIT_ROWS

    def __init__(self, settings: LiveSettings) -> None:
        """Raises Failure for what is no store of tables."""
        self._location = Location.parsed(settings.store)
        if self._location.dataset:
            raise Failure(f"{self._location} is a dataset: use {self._location.store} as the store of all")
        self._writer = TableWriter(self._location)
        self._seconds = min(settings.shard_seconds, COMMIT_SECONDS)
        self._waiting: deque[tuple[Arrival, Future[None]]] = deque()
        self._bytes = 0
        # When the next commit is due, or the next look.
        self._due = 0.0
        self._woken = asyncio.Event()
        self._turn = asyncio.Lock()
        self._stopping = False
        self.damaged: set[str] = set()
        self._writer.services = self.services = dict[str, ServiceDescribed]()
        self.fault = ""

    async def __aenter__(self) -> Self:
        """Raises Failure for a catalog that is not configured."""
        with contextlib.suppress(StorageUnavailable, UnreadableManifest):
            await self._ask(self._writer.look)
        BLOCKED.set_function(lambda: float(bool(self.fault)))
        self._committing = asyncio.create_task(self._commit_always())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping = True
        self._woken.set()
        await asyncio.wait([self._committing])

    async def add(
        self, conversation: Conversation, faults: list[str], origin: Origin | None = None, lineage: str = ""
    ) -> None:
        answer = asyncio.get_running_loop().create_future()
        collected = collected_now(conversation, faults, origin, lineage)
        if not self._waiting:
            self._due = time.monotonic() + self._seconds
            self._woken.set()
        self._waiting.append(((run_key(conversation.run), collected), answer))
        self._bytes += len(collected.conversation)
        if self._is_full:
            self._woken.set()
        await answer

    async def holds(self, conversation: Conversation) -> bool:
        return await self._ask(self._writer.holds, run_key(conversation.run), conversation)

    async def written(self, run: Run) -> int | None:
        return await self._ask(self._writer.count, run_key(run))

    async def record(self, changed: RunChanged) -> None:
        growing = run_key(changed.run)
        if changed.state == RunState.RUN_STATE_DELETED:
            await self._ask(self._writer.delete, growing)
        else:
            await self._ask(self._writer.record, growing, changed)

    def place(self, growing: str) -> str:
        return f"{self._location}/{growing}"

    @property
    def unread(self) -> str:
        return self._writer.unread

    @property
    def installation(self) -> str:
        return self._writer.installation

    @installation.setter
    def installation(self, installation: str) -> None:
        self._writer.installation = installation

    async def mark_read(self, mark: str) -> None:
        await self._ask(self._writer.mark_read, mark)

    @property
    def _is_full(self) -> bool:
        return len(self._waiting) >= COMMIT_ROWS or self._bytes >= COMMIT_BYTES

    async def _commit_always(self) -> None:
        while not self._stopping or self._waiting:
            await self._until_due()
            batch = self._taken()
            try:
                await self._commit(batch)
                self.fault = ""
            except Exception as error:
                # Any error: the events stay in their topic, and readiness reports it.
                self.fault = f"collector: nothing can be committed ({error})"
                if self._stopping:
                    return
                self._waiting.extendleft(reversed(batch))
                self._bytes += sum(map(_size, batch))
                await asyncio.sleep(PAUSE_SECONDS)
            self._due = time.monotonic() + (self._seconds if self._waiting else LOOK_SECONDS)

    async def _until_due(self) -> None:
        while not (self._is_full or self._stopping) and (seconds := self._due - time.monotonic()) > 0:
            self._woken.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._woken.wait()

    def _taken(self) -> list[tuple[Arrival, Future[None]]]:
        """Takes what fits into a commit; whoever added it may have given it up, as when its partition moved."""
        batch: list[tuple[Arrival, Future[None]]] = []
        size = 0
        while self._waiting and len(batch) < COMMIT_ROWS and size < COMMIT_BYTES:
            one = self._waiting.popleft()
            self._bytes -= _size(one)
            if not one[1].done():
                batch.append(one)
                size += _size(one)
        return batch

    async def _commit(self, batch: Sequence[tuple[Arrival, Future[None]]]) -> None:
        arrivals = [arrival for arrival, _ in batch]
        if not arrivals:
            await self._ask(self._writer.look)
            return
        began = time.time()
        await self._ask(self._writer.append, arrivals)
        spans.record_batch("collector", "collector commit", (one.id for _, one in arrivals), began, rows=len(arrivals))
        for _, answer in batch:
            if not answer.done():
                answer.set_result(None)

    async def _ask(self, act: Callable[..., T], *given: Any) -> T:
        async with self._turn:
            return await asyncio.to_thread(act, *given)


def _size(one: tuple[Arrival, Future[None]]) -> int:
    return len(one[0][1].conversation)
