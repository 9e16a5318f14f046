"""Adapts the number of concurrent calls to an endpoint: it falls when calls are throttled and recovers after."""

import math
from dataclasses import dataclass

# Seconds between two decreases.
ROUND_SECONDS = 1.0
# Growth of the cubic: 256 concurrent calls are back within six seconds, however low the width fell.
GROWTH = 4.0


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
