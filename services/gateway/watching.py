"""Fans out updates to any number of watchers in bounded memory, and exports the figures of the latest runs."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from soliloquy.runtime.metrics import gauge
from soliloquy_services.gateway.runs import RunTable, state_name

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")

# The shortest time between two updates.
BEAT_SECONDS = 0.2
# How often values that change with time alone, such as a rate, are updated.
IDLE_SECONDS = 2.0
# The items that a tail keeps for a slow reader.
MOST_KEPT = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """How many items a slow reader missed."""

    number: int


class _Queue(asyncio.Queue[Item]):
    """The items for one reader: a full queue drops its oldest one, and counts it."""

    dropped = 0

    def push(self, item: Item) -> None:
        if self.full():
            self.get_nowait()
            self.dropped += 1
        self.put_nowait(item)


class _Feed(Generic[Key, Item]):
    def __init__(self) -> None:
        self._queues: defaultdict[Key, set[_Queue[Item]]] = defaultdict(set)

    @property
    def readers(self) -> int:
        return sum(len(queues) for queues in self._queues.values())

    def publish(self, key: Key, item: Item) -> None:
        for queue in self._queues.get(key, ()):
            queue.push(item)

    @property
    def keys(self) -> Collection[Key]:
        return self._queues.keys()

    @contextmanager
    def _queue(self, key: Key, most: int) -> Iterator[_Queue[Item]]:
        queue = _Queue[Item](most)
        self._queues[key].add(queue)
        try:
            yield queue
        finally:
            self._queues[key].discard(queue)
            if not self._queues[key]:
                del self._queues[key]


class LatestFeed(_Feed[Key, Item]):
    """Gives each watcher of a key the latest value when it reads; older values are dropped."""

    def __init__(self, look: Callable[[Key], Item]) -> None:
        super().__init__()
        self._look = look
        self._changed: set[Key] = set()
        self._woken = asyncio.Event()

    def mark_changed(self, key: Key) -> None:
        if key in self._queues:
            self._changed.add(key)
            self._woken.set()

    def mark_all_changed(self) -> None:
        for key in self._queues:
            self.mark_changed(key)

    async def watch(self, key: Key) -> AsyncGenerator[Item, None]:
        """Yields the current value at once, and then each that differs from the one before."""
        shown = self._look(key)
        with self._queue(key, 1) as queue:
            yield shown
            while True:
                item = await queue.get()
                if item != shown:
                    shown = item
                    yield item

    async def publish_changes(self) -> None:
        while True:
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                self._changed.update(self._queues)
            self._woken.clear()
            changed, self._changed = self._changed, set()
            for key in changed & self._queues.keys():
                self.publish(key, self._look(key))
            await asyncio.sleep(BEAT_SECONDS)


class TailFeed(_Feed[str, Item]):
    """Gives each follower of a key every item and, where it is too slow, the number of those it missed."""

    def publish_latest(self, key: str, items: Sequence[Item], number: int) -> None:
        """Publishes the latest of so many items."""
        for queue in self._queues.get(key, ()):
            queue.dropped += number - len(items)
        for item in items:
            self.publish(key, item)

    async def follow(self, key: str) -> AsyncGenerator[Item | Skipped, None]:
        with self._queue(key, MOST_KEPT) as queue:
            while True:
                item = await queue.get()
                dropped, queue.dropped = queue.dropped, 0
                if dropped:
                    yield Skipped(number=dropped)
                yield item


# Each takes some eight series.
MOST = 50

INFO = gauge("soliloquy_run_info")
CONVERSATIONS = gauge("soliloquy_run_conversations")
WANTED = gauge("soliloquy_run_wanted")
ETA = gauge("soliloquy_run_eta_seconds")
TOKENS = gauge("soliloquy_run_tokens")
COST = gauge("soliloquy_run_cost")
CHANGED = gauge("soliloquy_run_changed_timestamp_seconds")

_INSTRUMENTS = (INFO, CONVERSATIONS, WANTED, ETA, TOKENS, COST, CHANGED)


def export_runs(runs: RunTable, now: float | None = None) -> None:
    """Exports the latest runs as they are, and no others; those that the gateway drives come before all others."""
    forget_runs()
    there = (known for known in runs.by_id.values() if not known.is_deleted)
    latest = sorted(there, key=lambda known: (known.is_steered, known.changed.changed_at))
    for known in latest[-MOST:]:
        status = runs.status(known.id, now)
        run, progress = status.id, status.progress
        INFO.labels(run, status.name, status.requested_by, status.tenant, state_name(status.state)).set(1)
        CONVERSATIONS.labels(run, "accepted").set(progress.accepted)
        CONVERSATIONS.labels(run, "rejected").set(progress.rejected)
        TOKENS.labels(run).set(sum(used.completion for used in progress.tokens.values()))
        COST.labels(run).set(status.cost)
        CHANGED.labels(run).set(status.changed_at)
        if status.request.conversations:
            WANTED.labels(run).set(status.request.conversations)
        if status.eta_seconds:
            ETA.labels(run).set(status.eta_seconds)


def forget_runs() -> None:
    for instrument in _INSTRUMENTS:
        instrument.clear()
