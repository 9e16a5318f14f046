"""Figures of several rounds, brought down to what one quotes."""

import math
import statistics
from collections.abc import Sequence
from typing import Any


def quantile(values: Sequence[float], part: float) -> float:
    """The smallest value that at least this part of them does not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * part) - 1)]


def spread(values: Sequence[float]) -> dict[str, float]:
    """With as many digits as a benchmark can mean."""
    told = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return {name: float(f"{value:.4g}") for name, value in told.items()}


def merged(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One figure of the same shape, each number replaced by its spread over the rounds."""
    return {
        name: merged([one[name] for one in rounds]) if isinstance(part, dict) else spread([one[name] for one in rounds])
        for name, part in rounds[0].items()
    }


def figure(figures: dict[str, Any], path: str) -> Any:
    """What lies at "a.b.c"; None where that was not measured."""
    for name in path.split("."):
        figures = figures.get(name, {})
    return figures or None
