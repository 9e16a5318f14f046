"""Limits the concurrent calls to an endpoint and lets them pass in their order of arrival."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from soliloquy.runtime.model.breaker import Breaker
from soliloquy.runtime.model.faults import Passing
from soliloquy.runtime.model.limit import Limit

# The width grows with time, so waiting calls are checked this often.
LOOK_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    began: float
    # Whether the breaker is open and this call probes the endpoint.
    probe: bool


class Gate:
    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = Limit(most)
        self._breaker = Breaker()
        self._clock = clock
        self._waiting: deque[asyncio.Future[Passage]] = deque()
        self._looking: asyncio.TimerHandle | None = None
        self.in_flight = 0

    @property
    def width(self) -> int:
        return self._limit.width(self._clock())

    @property
    def is_shut(self) -> bool:
        return self._breaker.is_open

    async def enter(self) -> Passage:
        """Waits for admission. Every call that enters must leave by `answered`, `failed` or `abandon`."""
        if not self._waiting and (passage := self._let_through()):
            return passage
        place: asyncio.Future[Passage] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._look_later()
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.abandon(place.result())
            raise

    def answered(self) -> None:
        self._limit.answered()
        self._breaker.succeeded()
        self._leave()

    def failed(self, passage: Passage, fault: Passing) -> None:
        now = self._clock()
        if fault.throttles:
            self._limit.throttled(in_flight=self.in_flight, now=now)
        if fault.against_endpoint:
            self._breaker.failed(now, probe=passage.probe)
        else:
            self._breaker.succeeded()
        self._leave()

    def abandon(self, passage: Passage) -> None:
        """Leaves without any result about the endpoint."""
        self._breaker.abandoned(probe=passage.probe)
        self._leave()

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _let_through(self) -> Passage | None:
        now = self._clock()
        if self._breaker.pause(now) or self.in_flight >= self._limit.width(now):
            return None
        self.in_flight += 1
        return Passage(began=now, probe=self._breaker.begin())

    def _admit(self) -> None:
        while self._waiting:
            if self._waiting[0].done():
                self._waiting.popleft()
            elif passage := self._let_through():
                self._waiting.popleft().set_result(passage)
            else:
                self._look_later()
                return

    def _look_later(self) -> None:
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._looking = None
        self._admit()
