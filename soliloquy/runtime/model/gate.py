"""Limits the concurrent calls to an endpoint, and stops them while it answers none."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from soliloquy.runtime.model.faults import RetryableFault, TimedOut
from soliloquy.runtime.model.status import EndpointStatus

# The width grows with time, so waiting calls are checked this often.
LOOK_SECONDS = 0.1
# Consecutive failures that open the circuit breaker, and its pauses.
FAILURES = 10
PAUSE_SECONDS = 0.5
PAUSE_CAP_SECONDS = 30.0
# An endpoint that has held a call for longer is at work on it: endpoints refuse sooner.
WORKING_SECONDS = 10.0
# Seconds between two decreases of the width.
ROUND_SECONDS = 1.0
# Growth of the cubic: 256 concurrent calls are back within six seconds, however low the width fell.
GROWTH = 4.0


@dataclass(slots=True)
class Breaker:
    """Stops calls to an endpoint that answers none. Open, it blocks every call until its pause is over. Then one probe
    may pass: success closes the breaker, failure keeps it open for twice as long."""

    _failures: int = 0
    _pause: float = PAUSE_SECONDS
    _opened_at: float | None = None
    _probing: bool = False

    @property
    def is_open(self) -> bool:
        return self._opened_at is not None

    def pause(self, now: float) -> float:
        """Returns the seconds until a call may pass; infinite while a probe is running."""
        if self._opened_at is None:
            return 0.0
        return float("inf") if self._probing else max(0.0, self._opened_at + self._pause - now)

    def begin(self) -> bool:
        """Lets a call pass and returns whether it is a probe."""
        self._probing = self.is_open
        return self._probing

    def succeeded(self) -> None:
        """Closes the breaker, even if the call began before it opened."""
        self._failures = 0
        self._pause = PAUSE_SECONDS
        self._opened_at = None
        self._probing = False

    def failed(self, now: float, *, probe: bool, final: bool = False) -> None:
        """A final failure opens the breaker at once."""
        self._failures += 1
        if probe:
            self._pause = min(PAUSE_CAP_SECONDS, 2 * self._pause)
            self._probing = False
        if probe or ((final or self._failures >= FAILURES) and not self.is_open):
            self._opened_at = now

    def abandoned(self, *, probe: bool) -> None:
        """The call ended without revealing anything about the endpoint."""
        if probe:
            self._probing = False


@dataclass(slots=True)
class ConcurrencyLimit:
    """Decreases by half the share of throttled calls, as DCTCP does, so that an endpoint that throttles one call in
    twenty stays busy. Increases as CUBIC does: quickly to the last good width, flat around it, then ever faster.
    Adding one call per round would take minutes after a storm."""

    most: int
    _answered: int = 0
    _throttled: int = 0
    _cut_at: float = float("-inf")
    _width_at_cut: int = 0
    _cut_off: float = 0.0

    def width(self, now: float) -> int:
        if self._cut_at == float("-inf"):
            return self.most
        back = math.cbrt(self._cut_off / GROWTH)
        return max(1, min(self.most, round(self._width_at_cut + GROWTH * (now - self._cut_at - back) ** 3)))

    def answered(self) -> None:
        self._answered += 1

    def throttled(self, *, in_flight: int, now: float) -> None:
        self._throttled += 1
        if now - self._cut_at < ROUND_SECONDS:
            return
        self._width_at_cut = min(in_flight, self.width(now))
        self._cut_off = self._width_at_cut * self._throttled / (self._throttled + self._answered) / 2
        self._cut_at = now
        self._answered = self._throttled = 0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Permit:
    began: float
    # Whether the breaker is open and this call probes the endpoint.
    probe: bool


class Gate:
    """Lets calls to an endpoint pass in their order of arrival, and says how they fare."""

    def __init__(self, where: str, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._where = where
        self._limit = ConcurrencyLimit(most)
        self._breaker = Breaker()
        self._clock = clock
        self._waiting: deque[asyncio.Future[Permit]] = deque()
        self._looking: asyncio.TimerHandle | None = None
        # When each call began, and the permits of those in flight: the oldest is first.
        self._calls: dict[object, float] = {}
        self._permits: dict[Permit, None] = {}
        self._failing_since: float | None = None
        self._timed_out = self._refused = False
        self._error = ""

    @property
    def width(self) -> int:
        return self._limit.width(self._clock())

    @property
    def is_shut(self) -> bool:
        return self._breaker.is_open

    @property
    def in_flight(self) -> int:
        return len(self._permits)

    @property
    def status(self) -> EndpointStatus:
        now = self._clock()
        since = self._failing_since if self._error and not self._is_at_work(now) else None
        return EndpointStatus(
            where=self._where,
            waiting=len(self._calls),
            oldest_seconds=now - next(iter(self._calls.values()), now),
            in_flight=self.in_flight,
            failing_seconds=now - since if since is not None else 0.0,
            error=self._error,
            refused=self._refused,
        )

    def _is_at_work(self, now: float) -> bool:
        oldest = next(iter(self._permits), None)
        return oldest is not None and now - oldest.began > WORKING_SECONDS and not self._timed_out

    @contextmanager
    def call(self) -> Iterator[None]:
        """Counts a call as waiting while the context is entered."""
        key = object()
        self._calls[key] = self._clock()
        try:
            yield
        finally:
            del self._calls[key]

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

    def answered(self, permit: Permit) -> None:
        """The endpoint did what was asked, or refused this call alone."""
        self._limit.answered()
        self._breaker.succeeded()
        self._failing_since = None
        self._timed_out = self._refused = False
        self._error = ""
        self._leave(permit)

    def failed(self, permit: Permit, fault: RetryableFault) -> None:
        now = self._clock()
        if fault.throttles:
            self._limit.throttled(in_flight=self.in_flight, now=now)
        if fault.against_endpoint:
            self._breaker.failed(now, probe=permit.probe, final=fault.is_final)
        else:
            self._breaker.succeeded()
        self._error = str(fault)
        self._timed_out = self._timed_out or isinstance(fault, TimedOut)
        self._refused = fault.is_final
        self._leave(permit)

    def abandon(self, permit: Permit) -> None:
        """Leaves without any result about the endpoint: if nobody else waits for one, it is not failing since then."""
        self._breaker.abandoned(probe=permit.probe)
        if self.in_flight == 1 and not self._error:
            self._failing_since = None
        self._leave(permit)

    def _leave(self, permit: Permit) -> None:
        del self._permits[permit]
        self._admit()

    def _let_through(self) -> Permit | None:
        now = self._clock()
        if self._breaker.pause(now) or self.in_flight >= self._limit.width(now):
            return None
        permit = Permit(began=now, probe=self._breaker.begin())
        self._permits[permit] = None
        if self._failing_since is None:
            self._failing_since = now
        return permit

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
