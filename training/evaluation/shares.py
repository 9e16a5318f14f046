"""Shares of cases with confidence intervals."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

# 95 % of the standard normal distribution lie within.
_Z = 1.959964

# `passed` of `of` cases, their `share`, which is None without cases, and its interval from `low` to `high`.
Share = dict[str, Any]


def share_of(outcomes: Iterable[bool]) -> Share:
    counts = Counter(outcomes)
    return _share(counts[True], counts.total())


def share_of_scores(scores: Sequence[float]) -> Share:
    """Sums scores from 0 to 1; the interval assumes passes and failures, so it is rather too wide."""
    return _share(round(sum(scores), 2), len(scores))


def wilson(passed: float, of: int) -> tuple[float, float]:
    """Returns the 95 % Wilson interval, which is sound for few cases and for shares of 0 and 1."""
    if not of:
        return 0.0, 1.0
    share, spread = passed / of, _Z**2 / of
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def _share(passed: float, of: int) -> Share:
    low, high = wilson(passed, of)
    return {"passed": passed, "of": of, "share": passed / of if of else None, "low": low, "high": high}
