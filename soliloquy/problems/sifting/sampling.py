"""Draws problems evenly from bins of solve rates, topics or difficulties."""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from soliloquy.runtime.files import table_beside
from soliloquy.runtime.seeds import seed


@dataclass(frozen=True, kw_only=True, slots=True)
class DuplicatePolicy:
    shingle: int
    same: float
    recall: float
    most_bands: int
    most_rows: int
    sketch: int
    compared: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SolveRatePolicy:
    edge: float
    below: float
    bin: float


_POLICY = table_beside(__file__, "policy.toml")

DUPLICATES = DuplicatePolicy(**_POLICY["duplicates"])
TRAIN_SHARE: float = _POLICY["split"]["train"]
SOLVE_RATE = SolveRatePolicy(**_POLICY["solve_rate"])


Bin = TypeVar("Bin", bound=Hashable)


def even_shares(wanted: int, sizes: Mapping[Bin, int]) -> dict[Bin, int]:
    """Returns how many to take of each bin: evenly, with more from the others if a bin has too few."""
    taken = dict.fromkeys(sizes, 0)
    # Smallest first, so that all following bins make up for their lack.
    for left, name in zip(range(len(sizes), 0, -1), sorted(sizes, key=lambda each: sizes[each]), strict=True):
        rest = wanted - sum(taken.values())
        taken[name] = min(sizes[name], rest // left)
    return taken


def draw_sample(run_seed: int, problems: Iterable[str], count: int) -> list[str]:
    """The same problems for the same seed, and most of them still when others join."""
    return sorted(problems, key=lambda problem: seed("sample", run_seed, problem))[:count]


def even_sample(run_seed: int, bins: Mapping[Bin, Sequence[str]], wanted: int) -> set[str]:
    counts = even_shares(wanted, {name: len(problems) for name, problems in bins.items()})
    return {problem for name, problems in bins.items() for problem in draw_sample(run_seed, problems, counts[name])}


def bin_of(rate: float) -> int:
    """Returns the bin of a solve rate, from 0."""
    # Rounded, because 0.3 / 0.1 is slightly less than 3.
    return min(int(round(rate / SOLVE_RATE.bin, 9)), round(1 / SOLVE_RATE.bin) - 1)


def bin_name(number: int) -> str:
    """ "0.3-0.4" """
    return f"{number * SOLVE_RATE.bin:.1f}-{(number + 1) * SOLVE_RATE.bin:.1f}"


def by_solve_rate(run_seed: int, rates: Mapping[str, float], wanted: int) -> set[str]:
    """Draws hard and easy problems in the policy's proportion, even if that makes the sample smaller."""
    hard: defaultdict[int, list[str]] = defaultdict(list)
    easy: defaultdict[int, list[str]] = defaultdict(list)
    for problem, rate in rates.items():
        (hard if rate < SOLVE_RATE.edge else easy)[bin_of(rate)].append(problem)
    below = round(wanted * SOLVE_RATE.below)
    return even_sample(run_seed, hard, below) | even_sample(run_seed, easy, wanted - below)


def short_bins(chosen: Collection[str], rates: Mapping[str, float], wanted: int) -> dict[str, int]:
    """Returns the bins with less than their even share of a sample, each with the number taken from it."""
    taken = Counter(bin_of(rates[problem]) for problem in chosen)
    edge, bins = round(SOLVE_RATE.edge / SOLVE_RATE.bin), round(1 / SOLVE_RATE.bin)
    below = round(wanted * SOLVE_RATE.below)
    even = {number: below // edge if number < edge else (wanted - below) // (bins - edge) for number in range(bins)}
    return {bin_name(number): taken[number] for number, share in even.items() if taken[number] < share}
