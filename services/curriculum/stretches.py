"""A set of whole numbers, most of which follow each other."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator


class Stretches:
    def __init__(self, bounds: Iterable[int] = ()) -> None:
        # In order: the first number of each stretch, and the one after its last.
        self._bounds = list(bounds)

    def __iter__(self) -> Iterator[int]:
        """Yields the bounds."""
        return iter(self._bounds)

    def __contains__(self, number: int) -> bool:
        return bisect_right(self._bounds, number) % 2 == 1

    def add(self, number: int) -> None:
        if number in self:
            return
        place = bisect_right(self._bounds, number)
        follows = self._bounds[place - 1 : place] == [number]
        precedes = self._bounds[place : place + 1] == [number + 1]
        bounds = [number] * (not follows) + [number + 1] * (not precedes)
        self._bounds[place - follows : place + precedes] = bounds
