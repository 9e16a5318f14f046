"""How many calls at once an endpoint gets: fewer when it says that there are too many, then more again."""

import math
from dataclasses import dataclass

# What a cut leaves.
CUT = 0.7
# Of the cubic, a second: 256 calls at once come back within eight seconds, however low the width fell.
GROWTH = 1.0


@dataclass(slots=True)
class Limit:
    """Multiplicative decrease; the increase is CUBIC's, as in TCP: back towards the width at which it was cut, level
    with it for a while, then on and on faster. Adding one a round trip would need minutes after a storm."""

    most: int
    _cut_at: float = float("-inf")
    _width_at_cut: float = 0.0

    def width(self, now: float) -> int:
        if self._cut_at == float("-inf"):
            return self.most
        back = math.cbrt(self._width_at_cut * (1 - CUT) / GROWTH)
        return max(1, min(self.most, round(self._width_at_cut + GROWTH * (now - self._cut_at - back) ** 3)))

    def throttled(self, *, in_flight: int, began: float, now: float) -> None:
        """A call that began before the last cut says nothing of the width after it."""
        if began > self._cut_at:
            self._width_at_cut = min(in_flight, self.width(now))
            self._cut_at = now
