"""Records the calls to an endpoint: how many wait, since when none is answered, and why."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from soliloquy.runtime.model.faults import RetryableFault, TimedOut

# An endpoint that has held a call for longer is at work on it: endpoints refuse sooner.
WORKING_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointStatus:
    # The endpoint with its address and model.
    where: str
    # Calls without an answer so far, and the age of the oldest.
    waiting: int
    oldest_seconds: float
    # Requests that were sent and have no answer yet.
    in_flight: int
    # How long no call has got an answer; 0 while the endpoint answers or is at work on a call.
    failing_seconds: float
    # The last fault since a call got an answer.
    error: str
    # Whether no call can succeed until a person fixes something.
    refused: bool
    # The batches that the endpoint works on, and the calls in them.
    batches: int = 0
    batched: int = 0


def merged(statuses: Iterable[EndpointStatus]) -> list[EndpointStatus]:
    """Returns one status for each endpoint that several processes ask: it fails where none of them succeeds."""
    found: dict[str, EndpointStatus] = {}
    for one in statuses:
        if (other := found.get(one.where)) is None:
            found[one.where] = one
            continue
        asking = [each for each in (one, other) if each.waiting or each.failing_seconds]
        found[one.where] = replace(
            other,
            waiting=one.waiting + other.waiting,
            oldest_seconds=max(one.oldest_seconds, other.oldest_seconds),
            in_flight=one.in_flight + other.in_flight,
            failing_seconds=min((each.failing_seconds for each in asking), default=0.0),
            error=other.error or one.error,
            refused=other.refused or one.refused,
        )
    return list(found.values())


class CallRecord:
    def __init__(self, where: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._where = where
        self._clock = clock
        # When each call, and each attempt in flight, began: the oldest is first.
        self._calls: dict[object, float] = {}
        self._attempts: dict[object, float] = {}
        self._failing_since: float | None = None
        self._timed_out = False
        self._error = ""
        self._refused = False

    @property
    def status(self) -> EndpointStatus:
        now = self._clock()
        oldest = next(iter(self._calls.values()), now)
        is_failing = self._error and self._failing_since is not None and not self._is_at_work
        return EndpointStatus(
            where=self._where,
            waiting=len(self._calls),
            oldest_seconds=now - oldest,
            in_flight=len(self._attempts),
            failing_seconds=now - self._failing_since if is_failing and self._failing_since is not None else 0.0,
            error=self._error,
            refused=self._refused,
        )

    @property
    def _is_at_work(self) -> bool:
        began = next(iter(self._attempts.values()), None)
        return began is not None and self._clock() - began > WORKING_SECONDS and not self._timed_out

    @contextmanager
    def call(self) -> Iterator[None]:
        """Counts a call while the context is entered."""
        key = object()
        self._calls[key] = self._clock()
        try:
            yield
        finally:
            del self._calls[key]

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Counts an attempt in flight while the context is entered."""
        key, now = object(), self._clock()
        self._attempts[key] = now
        if self._failing_since is None:
            self._failing_since = now
        try:
            yield
        finally:
            del self._attempts[key]

    def answered(self) -> None:
        """The endpoint did what was asked, or refused this call alone."""
        self._failing_since = None
        self._timed_out = self._refused = False
        self._error = ""

    def abandoned(self) -> None:
        """The attempt ended and told nothing of the endpoint: nobody waits since then."""
        if not (self._attempts or self._error):
            self._failing_since = None

    def failed(self, fault: RetryableFault) -> None:
        self._error = str(fault)
        self._timed_out = self._timed_out or isinstance(fault, TimedOut)
        self._refused = fault.is_final
