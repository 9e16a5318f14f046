"""Finds few combinations that cover every pair of choices: most option faults need only two of them."""

from collections.abc import Mapping, Sequence, Set
from itertools import combinations

Pair = frozenset[tuple[str, str]]


def pairwise(choices: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Extends each combination greedily from an uncovered pair."""
    levels = [[(factor, level) for level in choices[factor]] for factor in choices]
    still_open = dict.fromkeys(
        frozenset((one, other)) for some, others in combinations(levels, 2) for one in some for other in others
    )
    factors = list(choices)
    found = []
    while still_open:
        pair = next(iter(still_open))
        orders = [factors[start:] + factors[:start] for start in range(len(factors))]
        row = max(
            (_row(dict(pair), order, choices, still_open.keys()) for order in orders),
            key=lambda row: len(_pairs(row) & still_open.keys()),
        )
        for met in _pairs(row):
            still_open.pop(met, None)
        found.append({factor: row[factor] for factor in factors})
    return found


def _row(
    row: dict[str, str], order: Sequence[str], choices: Mapping[str, Sequence[str]], still_open: Set[Pair]
) -> dict[str, str]:
    for factor in order:
        if factor not in row:
            row[factor] = max(
                choices[factor],
                key=lambda level: sum(frozenset(((factor, level), other)) in still_open for other in row.items()),
            )
    return row


def _pairs(row: Mapping[str, str]) -> set[Pair]:
    return set(map(frozenset, combinations(row.items(), 2)))
