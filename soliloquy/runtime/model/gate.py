"""Limits the concurrent calls to an endpoint and lets them pass in their order of arrival."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from soliloquy.runtime.model.breaker import Breaker
from soliloquy.runtime.model.faults import RetryableFault
from soliloquy.runtime.model.limit import ConcurrencyLimit

# The width grows with time, so waiting calls are checked this often.
LOOK_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Permit:
    began: float
    # Whether the breaker is open and this call probes the endpoint.
    probe: bool


class Gate:
    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = ConcurrencyLimit(most)
        self._breaker = Breaker()
        self._clock = clock
        self._waiting: deque[asyncio.Future[Permit]] = deque()
        self._looking: asyncio.TimerHandle | None = None
        self.in_flight = 0

    @property
    def width(self) -> int:
        return self._limit.width(self._clock())

    @property
    def is_shut(self) -> bool:
        return self._breaker.is_open

    async def enter(self) -> Permit:
        """Waits for admission. Every call that enters must leave by `answered`, `failed` or `abandon`."""
        if not self._waiting and (permit := self._let_through()):
            return permit
        place: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
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

    def failed(self, permit: Permit, fault: RetryableFault) -> None:
        now = self._clock()
        if fault.throttles:
            self._limit.throttled(in_flight=self.in_flight, now=now)
        if fault.against_endpoint:
            self._breaker.failed(now, probe=permit.probe)
        else:
            self._breaker.succeeded()
        self._leave()

    def abandon(self, permit: Permit) -> None:
        """Leaves without any result about the endpoint."""
        self._breaker.abandoned(probe=permit.probe)
        self._leave()

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _let_through(self) -> Permit | None:
        now = self._clock()
        if self._breaker.pause(now) or self.in_flight >= self._limit.width(now):
            return None
        self.in_flight += 1
        return Permit(began=now, probe=self._breaker.begin())

    def _admit(self) -> None:
        while self._waiting:
            if self._waiting[0].done():
                self._waiting.popleft()
            elif permit := self._let_through():
                self._waiting.popleft().set_result(permit)
            else:
                self._look_later()
                return

    def _look_later(self) -> None:
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._looking = None
        self._admit()
