"""Measures the pace of a run."""

import math
from collections import Counter

# Long enough to smooth conversations that take a minute.
WINDOW_SECONDS = 60


class Pace:
    """Measures how many events arrived per second lately."""

    def __init__(self) -> None:
        self._came: Counter[int] = Counter()
        self._first = math.inf

    def add(self, at: float, number: int) -> None:
        if number:
            self._first = min(self._first, at)
        self._came[int(at)] += number
        if len(self._came) > 2 * WINDOW_SECONDS:
            first = max(self._came) - WINDOW_SECONDS
            self._came = Counter({second: number for second, number in self._came.items() if second >= first})

    def rate(self, now: float, since: float) -> float:
        """Returns events per second over the last minute, or since the start if that is later."""
        first = int(now) - WINDOW_SECONDS
        seconds = min(float(WINDOW_SECONDS), max(1.0, now - since))
        return sum(number for second, number in self._came.items() if second > first) / seconds

    def foretells(self, now: float, since: float) -> bool:
        """Whether the rate holds for what is to come: those begun when the first one finished are over, too."""
        return now - self._first >= min(self._first - since, WINDOW_SECONDS)
