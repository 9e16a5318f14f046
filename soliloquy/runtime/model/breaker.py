"""A circuit breaker: stops calls to an endpoint that answers none, and probes whether it is back."""

from dataclasses import dataclass

# Consecutive failures that open it.
FAILURES = 10
PAUSE_SECONDS = 0.5
PAUSE_CAP_SECONDS = 30.0


@dataclass(slots=True)
class Breaker:
    """Open, it blocks every call until its pause is over. Then one probe may pass: success closes the breaker,
    failure keeps it open for twice as long."""

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

    def failed(self, now: float, *, probe: bool) -> None:
        self._failures += 1
        if probe:
            self._pause = min(PAUSE_CAP_SECONDS, 2 * self._pause)
            self._probing = False
        if probe or (self._failures >= FAILURES and not self.is_open):
            self._opened_at = now

    def abandoned(self, *, probe: bool) -> None:
        """The call ended without revealing anything about the endpoint."""
        if probe:
            self._probing = False
