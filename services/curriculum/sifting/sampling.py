"""Draws problems evenly over bins: of solve rates, of topics, of difficulties."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from services.curriculum.sifting.policy import SOLVE_RATE
from services.runtime.seeds import seed

Bin = TypeVar("Bin", bound=Hashable)


def shares(wanted: int, sizes: Mapping[Bin, int]) -> dict[Bin, int]:
    """How many to take of each bin: evenly, and more of the others where one has too few."""
    taken = dict.fromkeys(sizes, 0)
    # The smallest first, so that what they lack is spread over all that follow.
    for left, name in zip(range(len(sizes), 0, -1), sorted(sizes, key=lambda each: sizes[each]), strict=True):
        rest = wanted - sum(taken.values())
        taken[name] = min(sizes[name], rest // left)
    return taken


def drawn(run_seed: int, problems: Iterable[str], count: int) -> list[str]:
    """The same problems for the same seed, and most of them still when others join."""
    return sorted(problems, key=lambda problem: seed("sample", run_seed, problem))[:count]


def even_sample(run_seed: int, bins: Mapping[Bin, Sequence[str]], wanted: int) -> set[str]:
    counts = shares(wanted, {name: len(problems) for name, problems in bins.items()})
    return {problem for name, problems in bins.items() for problem in drawn(run_seed, problems, counts[name])}


def by_solve_rate(run_seed: int, rates: Mapping[str, float], wanted: int) -> set[str]:
    """The hard and the easy in the policy's proportion, which is kept even if that makes the sample smaller."""
    hard: defaultdict[int, list[str]] = defaultdict(list)
    easy: defaultdict[int, list[str]] = defaultdict(list)
    last = round(1 / SOLVE_RATE.bin) - 1
    for problem, rate in rates.items():
        # Rounded, since 0.3 / 0.1 is a little less than 3.
        number = min(int(round(rate / SOLVE_RATE.bin, 9)), last)
        (hard if rate < SOLVE_RATE.edge else easy)[number].append(problem)
    below = round(wanted * SOLVE_RATE.below)
    return even_sample(run_seed, hard, below) | even_sample(run_seed, easy, wanted - below)
