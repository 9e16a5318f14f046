"""A set of numbers, most of which follow one another, kept as stretches."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import count, pairwise
from typing import Self


class Stretches:
    def __init__(self, bounds: Iterable[int] = ()) -> None:
        # In order: the first number of each stretch, and the one after its last.
        self._bounds = list(bounds)

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Self:
        stretches = cls()
        for number in sorted(numbers):
            stretches.add(number)
        return stretches

    def __iter__(self) -> Iterator[int]:
        """Yields the bounds."""
        return iter(self._bounds)

    def __len__(self) -> int:
        """Counts the numbers."""
        return sum(self._bounds[1::2]) - sum(self._bounds[::2])

    def __contains__(self, number: int) -> bool:
        return bisect_right(self._bounds, number) % 2 == 1

    def pairs(self) -> Iterator[tuple[int, int]]:
        return zip(self._bounds[::2], self._bounds[1::2], strict=True)

    def missing(self) -> Iterator[int]:
        """Yields every number from 0 on that is in no stretch."""
        for first, past in list(pairwise([0, *self._bounds]))[::2]:
            yield from range(first, past)
        yield from count(self._bounds[-1] if self._bounds else 0)

    def add(self, number: int) -> None:
        self.update((number, number + 1))

    def update(self, bounds: Iterable[int]) -> None:
        """Adds all numbers of some stretches."""
        both = iter(bounds)
        for first, past in zip(both, both, strict=True):
            # An odd place is within a stretch, or at its end.
            start, end = bisect_left(self._bounds, first), bisect_right(self._bounds, past)
            self._bounds[start:end] = [first] * (start % 2 == 0) + [past] * (end % 2 == 0)
