"""How many problems a run may try, and which it tries next: policy of whoever drives one."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import count

# Of five problems MathDial had a use for one.
_UNFIT_A_CONVERSATION = 8


def most_problems(conversations: int, unfit: int) -> int:
    """A problem that is given up is replaced by another, until there were twice as many as are wanted.

    Those that are no use to the recipe do not count, until they are many times as many.
    """
    return 2 * conversations + min(unfit, _UNFIT_A_CONVERSATION * conversations)


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """How far a run is with the conversations that are wanted of it."""

    conversations: int
    accepted: int
    # Problems for which no conversation can be had as things are, and those of them that are no use to the recipe.
    given_up: int
    unfit: int

    @property
    def settled(self) -> int:
        """Problems that nothing more is to be done for."""
        return self.accepted + self.given_up

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to grow: all are accepted, or enough problems were tried."""
        return self.accepted >= self.conversations or self.settled >= self._most

    @property
    def wanted(self) -> int:
        """Problems to submit: no more than must be, so that the same ones are accepted whatever comes when."""
        return min(self.conversations + self.given_up, self._most)

    @property
    def _most(self) -> int:
        return most_problems(self.conversations, self.unfit)

    def admits(self, ordinal: int, submitted: int, ahead: int) -> bool:
        """Whether a problem is submitted after so many others, if so many are to be ahead of those that are settled."""
        return ordinal < self.wanted and submitted - self.settled < ahead


def left_to_submit(settled: Collection[int], begun: Collection[int]) -> Iterator[int]:
    """The problems' places in the run, in order; one that is submitted again would be grown once more."""
    return (ordinal for ordinal in count() if ordinal not in settled and ordinal not in begun)
