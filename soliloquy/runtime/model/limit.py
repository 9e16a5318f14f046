"""How many calls at once an endpoint gets: fewer when it says that there are too many, then more again."""

import math
from dataclasses import dataclass

# Between two cuts.
ROUND_SECONDS = 1.0
# Of the cubic, a second: 256 calls at once come back within six seconds, however low the width fell.
GROWTH = 4.0


@dataclass(slots=True)
class Limit:
    """Multiplicative decrease by half the share of calls that were refused, as in DCTCP: an endpoint that refuses one
    call in twenty is not left idle. The increase is CUBIC's: back towards the width at which it was cut, level with it
    for a while, then on and on faster; adding one a round would need minutes after a storm."""

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
