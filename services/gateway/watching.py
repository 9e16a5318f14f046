"""Fans out updates to any number of watchers in bounded memory; a slow one delays no other."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

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


class LatestFeed(Generic[Key, Item]):
    """Gives each watcher of a key the latest value when it reads; older values are dropped."""

    def __init__(self, look: Callable[[Key], Item]) -> None:
        self._look = look
        self._watchers: defaultdict[Key, set[_Slot[Item]]] = defaultdict(set)
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

    async def watch(self, key: Key) -> AsyncGenerator[Item, None]:
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
                item = self._look(key)
                for slot in self._watchers[key]:
                    slot.put(item)
            await asyncio.sleep(BEAT_SECONDS)


class _Slot(Generic[Item]):
    def __init__(self, item: Item) -> None:
        self._item = item
        self._filled = asyncio.Event()
        self._filled.set()

    def put(self, item: Item) -> None:
        if item != self._item:
            self._item = item
            self._filled.set()

    async def take(self) -> Item:
        await self._filled.wait()
        self._filled.clear()
        return self._item


class TailFeed(Generic[Item]):
    """Gives each follower of a key every item and, where it is too slow, the number of those it missed."""

    def __init__(self) -> None:
        self._followers: defaultdict[str, set[_Queue[Item]]] = defaultdict(set)

    @property
    def followers(self) -> int:
        return sum(len(queues) for queues in self._followers.values())

    def publish(self, key: str, item: Item) -> None:
        for queue in self._followers.get(key, ()):
            queue.put(item)

    async def follow(self, key: str) -> AsyncGenerator[Item | Skipped, None]:
        with self._followed(key) as queue:
            while True:
                yield await queue.take()

    @contextmanager
    def _followed(self, key: str) -> Iterator["_Queue[Item]"]:
        queue = _Queue[Item]()
        self._followers[key].add(queue)
        try:
            yield queue
        finally:
            self._followers[key].discard(queue)
            if not self._followers[key]:
                del self._followers[key]


class _Queue(Generic[Item]):
    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._skipped = 0
        self._filled = asyncio.Event()

    def put(self, item: Item) -> None:
        if len(self._items) == MOST_KEPT:
            self._items.popleft()
            self._skipped += 1
        self._items.append(item)
        self._filled.set()

    async def take(self) -> Item | Skipped:
        await self._filled.wait()
        if self._skipped:
            skipped, self._skipped = Skipped(number=self._skipped), 0
            return skipped
        item = self._items.popleft()
        if not self._items:
            self._filled.clear()
        return item
