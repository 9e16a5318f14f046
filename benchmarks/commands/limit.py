"""What a run would take if nothing but the model took time."""

import heapq
from collections.abc import Sequence


def makespan(chains: Sequence[float], places: int) -> float:
    """List scheduling: each chain begins, in order, as soon as one of so many places is free."""
    free_at = [0.0] * min(places, len(chains))
    for chain in chains:
        heapq.heapreplace(free_at, free_at[0] + chain)
    return max(free_at)
