"""Shares of cases with confidence intervals."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

# 95 % of the standard normal distribution lie within.
_Z = 1.959964


@dataclass(frozen=True, kw_only=True, slots=True)
class Proportion:
    # Fractional if scores are.
    passed: float
    of: int
    # None without cases.
    share: float | None
    low: float
    high: float

    @classmethod
    def of_outcomes(cls, outcomes: Iterable[bool]) -> Self:
        counts = Counter(outcomes)
        passed, of = counts[True], counts.total()
        low, high = wilson(passed, of)
        return cls(passed=passed, of=of, share=passed / of if of else None, low=low, high=high)

    @classmethod
    def of_scores(cls, scores: Sequence[float]) -> Self:
        """Sums scores from 0 to 1; the interval assumes passes and failures, so it is rather too wide."""
        points, of = round(sum(scores), 2), len(scores)
        low, high = wilson(points, of)
        return cls(passed=points, of=of, share=points / of if of else None, low=low, high=high)


def wilson(passed: float, of: int) -> tuple[float, float]:
    """Returns the 95 % Wilson interval, which is sound for few cases and for shares of 0 and 1."""
    if not of:
        return 0.0, 1.0
    share, spread = passed / of, _Z**2 / of
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def first_read(parsed: Counter[str]) -> Proportion:
    """Returns the share of answers that were usable at the first try."""
    return Proportion.of_outcomes(outcome in ("strict", "repaired") for outcome in parsed.elements())
