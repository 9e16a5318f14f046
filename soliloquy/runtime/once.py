"""Asks for an expensive value once, however many wait for it."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Once(Generic[T]):
    """Remembers the values used last; a forgotten one has to come out the same when it is made again."""

    def __init__(self, remembered: int) -> None:
        self._remembered = remembered
        self._known: OrderedDict[str, T] = OrderedDict()
        # Further callers wait here while the first one makes the value; unused locks disappear.
        self._making: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def get(self, key: str, make: Callable[[], Awaitable[T]]) -> T:
        async with self._making.setdefault(key, asyncio.Lock()):
            if key not in self._known:
                self._known[key] = await make()
            self._known.move_to_end(key)
            if len(self._known) > self._remembered:
                self._known.popitem(last=False)
            return self._known[key]
