"""Counts requests as they arrive: those of a program that was killed, and those that it repeats."""

import time
from collections import Counter


class Arrivals:
    def __init__(self) -> None:
        self._bodies: Counter[int] = Counter()
        self._answered = 0
        self._first = self._last = 0.0

    def arrive(self, body: bytes) -> None:
        self._first = self._first or time.monotonic()
        self._bodies[hash(body)] += 1

    def answer(self) -> None:
        self._answered += 1
        self._last = time.monotonic()

    def summary(self) -> dict[str, float]:
        """Returns the counts, and the seconds from the first request to the last answer."""
        counts = {"requests": self._bodies.total(), "different": len(self._bodies), "answered": self._answered}
        return {**counts, "seconds": self._last - self._first}
