"""What is kept in memory for as long as somebody comes back to it."""

import asyncio
from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class UntilIdle(Generic[T]):
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._kept: OrderedDict[str, tuple[T, asyncio.TimerHandle]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, key: str, value: T) -> None:
        """For so many seconds from this on."""
        self.drop(key)
        going = asyncio.get_running_loop().call_later(self._seconds, self.drop, key)
        self._kept[key] = (value, going)

    def get(self, key: str) -> T | None:
        kept = self._kept.get(key)
        return kept[0] if kept else None

    def drop(self, key: str) -> None:
        if kept := self._kept.pop(key, None):
            kept[1].cancel()

    def drop_oldest(self) -> None:
        self.drop(next(iter(self._kept)))
