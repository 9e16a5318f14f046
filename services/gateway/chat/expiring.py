"""A cache that forgets entries nobody has written for a while."""

import asyncio
from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class ExpiringCache(Generic[T]):
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._entries: OrderedDict[str, tuple[T, asyncio.TimerHandle]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, key: str, value: T) -> None:
        """Restarts the entry's time."""
        self.drop(key)
        timer = asyncio.get_running_loop().call_later(self._seconds, self.drop, key)
        self._entries[key] = (value, timer)

    def get(self, key: str) -> T | None:
        entry = self._entries.get(key)
        return entry[0] if entry else None

    def drop(self, key: str) -> None:
        if entry := self._entries.pop(key, None):
            entry[1].cancel()

    def drop_oldest(self) -> None:
        self.drop(next(iter(self._entries)))
