"""Leaves an endpoint in peace that answers nobody: a call now and then finds out whether it is back."""

from dataclasses import dataclass

# Failures in a row, of an endpoint that answers no call in between.
FAILURES = 10
PAUSE_SECONDS = 0.5
PAUSE_CAP_SECONDS = 30.0


@dataclass(slots=True)
class Breaker:
    """Closed, calls pass. Open, none does until its pause is over; then one, whose answer closes it, and whose failure
    opens it for twice as long."""

    _failures: int = 0
    _pause: float = PAUSE_SECONDS
    _opened_at: float | None = None
    _probing: bool = False

    @property
    def is_open(self) -> bool:
        return self._opened_at is not None

    def pause(self, now: float) -> float:
        """Seconds until a call may pass; without end while the one that finds out is under way."""
        if self._opened_at is None:
            return 0.0
        return float("inf") if self._probing else max(0.0, self._opened_at + self._pause - now)

    def begin(self) -> bool:
        """A call passes: whether it is the one that finds out."""
        self._probing = self.is_open
        return self._probing

    def succeeded(self) -> None:
        """Any answer closes it, also one to a call that began before it opened."""
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
        """The call ended without saying anything of the endpoint."""
        if probe:
            self._probing = False
