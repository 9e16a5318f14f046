"""Decides how many problems a run may try and which it tries next."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import count

# MathDial could use one problem in five.
_UNFIT_A_CONVERSATION = 8


def most_problems(conversations: int, unfit: int) -> int:
    """Limits the replacements for problems that are given up to twice the wanted conversations.

    Problems that the recipe cannot use do not count, up to a much larger limit.
    """
    return 2 * conversations + min(unfit, _UNFIT_A_CONVERSATION * conversations)


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """The progress of a run towards its wanted conversations."""

    conversations: int
    accepted: int
    # Problems that were given up, and how many of those the recipe cannot use.
    given_up: int
    unfit: int

    @property
    def settled(self) -> int:
        """Counts the problems that need no more work."""
        return self.accepted + self.given_up

    @property
    def is_over(self) -> bool:
        """Whether the run has all its conversations or has tried as many problems as it may."""
        return self.accepted >= self.conversations or self.settled >= self._most

    @property
    def wanted(self) -> int:
        """How many problems to submit: only as many as needed, so that timing does not decide which are accepted."""
        return min(self.conversations + self.given_up, self._most)

    @property
    def _most(self) -> int:
        return most_problems(self.conversations, self.unfit)

    def admits(self, ordinal: int, submitted: int, ahead: int) -> bool:
        """Whether to submit a problem when `submitted` were and at most `ahead` may be unsettled."""
        return ordinal < self.wanted and submitted - self.settled < ahead


def left_to_submit(settled: Collection[int], begun: Collection[int]) -> Iterator[int]:
    """Yields the ordinals of problems to submit, skipping settled and started ones."""
    return (ordinal for ordinal in count() if ordinal not in settled and ordinal not in begun)
