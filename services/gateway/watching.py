"""Fans out updates to any number of watchers in bounded memory; a slow one delays no other."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Shown = TypeVar("Shown")

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


class LatestFeed(Generic[Key, Shown]):
    """Gives each watcher of a key the latest value when it reads; older values are dropped."""

    def __init__(self, look: Callable[[Key], Shown]) -> None:
        self._look = look
        self._watchers: defaultdict[Key, set[_Slot[Shown]]] = defaultdict(set)
        self._changed: set[Key] = set()
        self._woken = asyncio.Event()

    @property
    def watchers(self) -> int:
        return sum(len(slots) for slots in self._watchers.values())

    def mark_changed(self, key: Key) -> None:
        if key in self._watchers:
            self._changed.add(key)
            self._woken.set()

    def mark_all_changed(self) -> None:
        if self._watchers:
            self._changed.update(self._watchers)
            self._woken.set()

    async def watch(self, key: Key) -> AsyncGenerator[Shown, None]:
        """Yields the current value at once, and then each that differs from the one before."""
        slot = _Slot(self._look(key))
        self._watchers[key].add(slot)
        try:
            while True:
                yield await slot.take()
        finally:
            self._watchers[key].discard(slot)
            if not self._watchers[key]:
                del self._watchers[key]

    async def publish_changes(self) -> None:
        while True:
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                self._changed.update(self._watchers)
            self._woken.clear()
            changed, self._changed = self._changed, set()
            for key in changed & self._watchers.keys():
                shown = self._look(key)
                for slot in self._watchers[key]:
                    slot.put(shown)
            await asyncio.sleep(BEAT_SECONDS)


class _Slot(Generic[Shown]):
    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._filled = asyncio.Event()
        self._filled.set()

    def put(self, shown: Shown) -> None:
        if shown != self._shown:
            self._shown = shown
            self._filled.set()

    async def take(self) -> Shown:
        await self._filled.wait()
        self._filled.clear()
        return self._shown


class TailFeed(Generic[Shown]):
    """Gives each follower of a key every item and, where it is too slow, the number of those it missed."""

    def __init__(self) -> None:
        self._followers: defaultdict[str, set[_Queue[Shown]]] = defaultdict(set)

    @property
    def followers(self) -> int:
        return sum(len(queues) for queues in self._followers.values())

    def publish(self, key: str, shown: Shown) -> None:
        for queue in self._followers.get(key, ()):
            queue.put(shown)

    async def follow(self, key: str) -> AsyncGenerator[Shown | Skipped, None]:
        with self._followed(key) as queue:
            while True:
                yield await queue.take()

    @contextmanager
    def _followed(self, key: str) -> Iterator["_Queue[Shown]"]:
        queue = _Queue[Shown]()
        self._followers[key].add(queue)
        try:
            yield queue
        finally:
            self._followers[key].discard(queue)
            if not self._followers[key]:
                del self._followers[key]


class _Queue(Generic[Shown]):
    def __init__(self) -> None:
        self._kept: deque[Shown] = deque()
        self._skipped = 0
        self._filled = asyncio.Event()

    def put(self, shown: Shown) -> None:
        if len(self._kept) == MOST_KEPT:
            self._kept.popleft()
            self._skipped += 1
        self._kept.append(shown)
        self._filled.set()

    async def take(self) -> Shown | Skipped:
        await self._filled.wait()
        if self._skipped:
            skipped, self._skipped = Skipped(number=self._skipped), 0
            return skipped
        shown = self._kept.popleft()
        if not self._kept:
            self._filled.clear()
        return shown
