"""Compares datasets with the counts of their runs, announces what they hold, and reads again what they have lost."""

import asyncio
import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing

from google.protobuf.message import Message

from soliloquy.runtime.events import first_event, run_key
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.reading import messages
from soliloquy.runtime.topics import TOPIC_OF, origin
from soliloquy.runtime.transports.port import Delivery, Transport, Unanswered
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import (
    ConversationCollected,
    ConversationFinished,
    RunChanged,
    RunStored,
    ServiceDescribed,
)
from soliloquy.v1.runs_pb2 import Run, RunState
from soliloquy_services.collector.datasets import Datasets

LOOK_SECONDS = 1.0
# Between two looks at a run whose last conversations are being written.
PENDING_SECONDS = 0.1
# Before what failed is tried again, which may read a whole topic.
PAUSE_SECONDS = 30.0
# Conversations that are looked for in one reading, and those that share a flush or a commit.
_MOST_LACKING = 100_000
_AT_ONCE = 2048
_FINISHED = TOPIC_OF[ConversationFinished].name
_EVERYTHING = "what was lost"

_log = logging.getLogger(__name__)


class Reconciliation:
    """Runs beside the stage that collects, in the same process."""

    def __init__(self, datasets: Datasets, transport: Transport) -> None:
        self._datasets = datasets
        self._transport = transport
        self._announced: dict[str, RunStored] = {}
        # The runs whose counts are final, and those of them whose datasets are still to be announced.
        self._counted: dict[str, RunChanged] = {}
        self._pending: dict[str, RunChanged] = {}
        # The runs whose latest state is not beside their datasets yet.
        self._unrecorded: dict[str, RunChanged] = {}
        # The runs whose datasets have lost something, and the pending ones of which the topics hold nothing more.
        self._damaged: set[str] = set()
        self._exhausted: set[str] = set()
        self._deleted: set[str] = set()
        # Why runs are left alone until a retry.
        self._faults: dict[str, str] = {}
        self._retry_at = 0.0
        self._woken = asyncio.Event()

    @property
    def fault(self) -> str:
        """Why a dataset cannot be compared or completed; empty if all can."""
        return next((f"collector: {run} cannot be completed ({why})" for run, why in self._faults.items()), "")

    async def run(self) -> None:
        """Returns never."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_services())
            # Before the runs: one whose dataset was complete is left alone, since somebody may have moved it.
            await self._recall()
            tasks.create_task(self._follow())
            while True:
                self._woken.clear()
                if time.monotonic() >= self._retry_at:
                    self._faults.clear()
                    self._retry_at = time.monotonic() + PAUSE_SECONDS
                if _EVERYTHING not in self._faults:
                    try:
                        await self._reconcile()
                    except (OSError, Failure) as error:
                        self._faults[_EVERYTHING] = str(error)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PENDING_SECONDS if self._pending else LOOK_SECONDS):
                        await self._woken.wait()

    async def _recall(self) -> None:
        while True:
            with contextlib.suppress(Unanswered):
                async for _, stored in self._read(TOPIC_OF[RunStored].name):
                    assert isinstance(stored, RunStored)
                    self._announced[run_key(stored.run)] = stored
                async for _, changed in self._read(TOPIC_OF[RunChanged].name):
                    assert isinstance(changed, RunChanged)
                    if changed.state == RunState.RUN_STATE_DELETED:
                        self._deleted.add(run_key(changed.run))
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _follow(self) -> None:
        async with aclosing(messages(self._transport.follow(TOPIC_OF[RunChanged].name))) as changes:
            async for _, changed in changes:
                assert isinstance(changed, RunChanged)
                self._count(changed)

    async def _follow_services(self) -> None:
        async with aclosing(messages(self._transport.follow(TOPIC_OF[ServiceDescribed].name))) as found:
            async for delivery, described in found:
                assert isinstance(described, ServiceDescribed)
                self._datasets.services[delivery.event.key] = described

    def _count(self, changed: RunChanged) -> None:
        growing = run_key(changed.run)
        self._unrecorded[growing] = changed
        self._woken.set()
        self._counted.pop(growing, None)
        self._pending.pop(growing, None)
        self._exhausted.discard(growing)
        if changed.state == RunState.RUN_STATE_DELETED:
            self._deleted.add(growing)
        if changed.HasField("progress"):
            self._counted[growing] = changed
            known = self._announced.get(growing)
            if known is None or known.conversations < _expected(changed):
                self._pending[growing] = changed

    async def _reconcile(self) -> None:
        for growing, changed in list(self._unrecorded.items()):
            await self._datasets.record(changed)
            if self._unrecorded[growing] is changed:
                del self._unrecorded[growing]
        marked = self._datasets.unread
        if marked:
            self._announced.clear()
            self._exhausted.clear()
            self._pending |= self._counted
        self._damaged |= self._datasets.damaged
        self._datasets.damaged.clear()
        self._exhausted -= self._damaged
        lacking = {growing for growing in list(self._pending) if await self._lacks(growing)}
        asked = (lacking | self._damaged) - self._faults.keys() - self._deleted
        if not (marked or asked):
            return
        await self._read_again(None if marked else asked)
        self._damaged = set(self._faults)
        self._exhausted |= lacking - self._damaged
        if marked:
            await self._datasets.mark_read(marked)

    async def _lacks(self, growing: str) -> bool:
        """Whether the topics may hold what a dataset lacks; announces one that is complete or stays incomplete."""
        changed = self._pending.get(growing)
        if changed is None or growing in self._faults:
            return False
        try:
            held = await self._datasets.written(changed.run)
        except (OSError, Failure) as error:
            self._faults[growing] = str(error)
            return False
        if held is None:
            return False
        lost = max(0, _expected(changed) - held)
        known = self._announced.get(growing, RunStored())
        if lost > known.lost and growing not in self._exhausted:
            return True
        if lost:
            place, wanted = self._datasets.place(growing), _expected(changed)
            _log.error("%s lacks %d of %d conversations, which %s no longer holds", place, lost, wanted, _FINISHED)
        name = Run(id=changed.run.id, growing=changed.run.growing)
        stored = RunStored(run=name, conversations=held, lost=lost)
        await self._transport.publish([first_event(stored, source="collector", time=time.time())])
        self._announced[growing] = stored
        self._exhausted.discard(growing)
        if self._pending.get(growing) is changed:
            del self._pending[growing]
        return False

    async def _read_again(self, runs: Collection[str] | None) -> None:
        """Stores what was announced of these runs, or of all, and is in no dataset."""
        lacking: dict[str, list[str]] = {}
        starts: defaultdict[str, dict[int, int]] = defaultdict(dict)
        async for _, collected in self._read(TOPIC_OF[ConversationCollected].name):
            assert isinstance(collected, ConversationCollected)
            conversation, place = collected.conversation, collected.finished
            growing = run_key(conversation.run)
            is_asked = (runs is None or growing in runs) and growing not in self._deleted
            if is_asked and origin(place.topic) == _FINISHED and not await self._holds(conversation):
                lacking[conversation.id] = list(collected.reasons)
                first = starts[place.topic]
                first[place.partition] = min(place.offset, first.get(place.partition, place.offset))
            if len(lacking) == _MOST_LACKING:
                await self._restore(lacking, starts)
                lacking.clear()
                starts.clear()
        await self._restore(lacking, starts)

    async def _holds(self, conversation: Conversation) -> bool:
        """Also for a dataset that cannot be opened, to which nothing can be added."""
        growing = run_key(conversation.run)
        if growing in self._faults:
            return True
        try:
            return await self._datasets.holds(conversation)
        except (OSError, Failure) as error:
            self._faults[growing] = str(error)
            return True

    async def _restore(self, lacking: dict[str, list[str]], starts: Mapping[str, Mapping[int, int]]) -> None:
        """Adds the lacking conversations, which are given with why they were rejected, and removes them from there."""
        found: list[tuple[Conversation, list[str], Origin, str]] = []
        for topic, first in starts.items():
            async with aclosing(self._read(topic, first)) as events:
                async for delivery, finished in events:
                    assert isinstance(finished, ConversationFinished)
                    conversation = finished.conversation
                    if not lacking:
                        break
                    if conversation.id in lacking:
                        place = Origin(topic=topic, partition=delivery.partition.number, offset=delivery.offset)
                        reasons, lineage = lacking.pop(conversation.id), delivery.event.lineage
                        found.append((conversation, reasons, place, lineage))
                    if len(found) == _AT_ONCE:
                        await self._add(found)
        await self._add(found)

    async def _add(self, found: list[tuple[Conversation, list[str], Origin, str]]) -> None:
        await asyncio.gather(*(self._datasets.add(*one) for one in found))
        if found:
            _log.warning("%d conversations that were lost are read again from %s", len(found), _FINISHED)
        found.clear()

    async def _read(
        self, topic: str, starts: Mapping[int, int] | None = None
    ) -> AsyncGenerator[tuple[Delivery, Message], None]:
        """Yields what a topic holds, from these offsets of these partitions on, and lets other tasks run meanwhile."""
        async with aclosing(messages(self._transport.read(topic, starts, starts))) as found:
            async for one in found:
                yield one
                await asyncio.sleep(0)


def _expected(changed: RunChanged) -> int:
    return changed.progress.accepted + changed.progress.rejected
