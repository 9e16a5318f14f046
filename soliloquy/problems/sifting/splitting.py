"""Parts a problem file into train and test by problem, as its seed says and nothing else."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from soliloquy.runtime.seeds import seed

PARTS = TRAIN, SEEN, UNSEEN = "train", "test-seen", "test-unseen"
_RANGE = 2**64


@dataclass(frozen=True, kw_only=True, slots=True)
class Shares:
    train: float
    # The share of the test rows whose problem occurs nowhere in train; all of them where there is but one row a
    # problem, as in a problem file. MathDial has several dialogues a problem, and 0.4.
    unseen: float
    seed: int

    @property
    def held_out(self) -> float:
        """The share of the problems that only the test has."""
        return (1 - self.train) * self.unseen

    @property
    def seen(self) -> float:
        """Of the rows of all other problems, the share that is for the test."""
        others = 1 - self.held_out
        return (1 - self.train) * (1 - self.unseen) / others if others else 0.0


def held_out(shares: Shares, problems: Iterable[str]) -> set[str]:
    """Each by its own hash: whichever others there are, a problem stays where it is."""
    return {problem for problem in problems if _place(shares.seed, "problem", problem) < shares.held_out}


def held_out_by_stratum(shares: Shares, strata: Mapping[str, str]) -> set[str]:
    """The share of each stratum, to one problem; those that join move only what lies at the edge."""
    problems: defaultdict[str, list[str]] = defaultdict(list)
    for problem, stratum in strata.items():
        problems[stratum].append(problem)
    return {
        problem
        for inside in problems.values()
        for problem in sorted(inside, key=lambda each: _place(shares.seed, "problem", each))[
            : round(len(inside) * shares.held_out)
        ]
    }


def drawn_for_test(shares: Shares, row: str) -> bool:
    """Whether a row of a problem that is not held out is for the test, as far as the row alone goes."""
    return _place(shares.seed, "row", row) < shares.seen


def part(problem: str, drawn: bool, *, unseen: Container[str], learned: Container[str]) -> str:
    """`learned` are the problems with a row in train: without one a problem would not be seen."""
    if problem in unseen:
        return UNSEEN
    return SEEN if drawn and problem in learned else TRAIN


def _place(run_seed: int, *parts: str) -> float:
    return seed("split", run_seed, *parts) / _RANGE
