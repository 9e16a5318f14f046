"""Tracks a consumer's position in a partition whose events finish out of order."""

from collections import deque
from collections.abc import Iterable


class Watermark:
    """The offset up to which every event is finished, and the finished offsets beyond it."""

    def __init__(self, position: int, ahead: Iterable[int] = ()) -> None:
        self.position = position
        self.ahead = set(ahead)
        self._taken: deque[int] = deque()
        self._open: set[int] = set()

    def take(self, offset: int) -> bool:
        """Records a fetched offset, in order; returns False if it was finished before."""
        self._taken.append(offset)
        if offset in self.ahead:
            return False
        self._open.add(offset)
        return True

    def is_finished(self, offset: int) -> bool:
        return offset <= self.position or offset in self.ahead

    def is_open(self, offset: int) -> bool:
        return offset in self._open

    def unfinished(self, end: int) -> int:
        """Counts the unfinished offsets below `end`."""
        return end - 1 - self.position - len(self.ahead)

    def finish(self, offset: int) -> None:
        self._open.remove(offset)
        self.ahead.add(offset)
        while self._taken and self._taken[0] in self.ahead:
            self.position = self._taken.popleft()
            self.ahead.remove(self.position)

    def skip(self, offset: int) -> None:
        """Finishes an offset that was never taken."""
        if offset > self.position:
            self.ahead.add(offset)
        while self.position + 1 in self.ahead:
            self.position += 1
            self.ahead.remove(self.position)
