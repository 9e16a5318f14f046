"""The figures of several rounds: their medians and spreads, held against targets."""

import math
import statistics
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def quantile(values: Sequence[float], part: float) -> float:
    """Returns the smallest value that at least this part of them does not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * part) - 1)]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Returns median, minimum and maximum, with as many digits as a benchmark can mean."""
    statistic = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return {name: float(f"{value:.4g}") for name, value in statistic.items()}


def merged(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns figures of the same shape, with each number replaced by its spread over the rounds."""
    return {
        name: merged([each[name] for each in rounds])
        if isinstance(part, dict)
        else spread([each[name] for each in rounds])
        for name, part in rounds[0].items()
    }


def figure(figures: dict[str, Any], path: str) -> Any:
    """Returns the figure at "a.b.c", or None if it was not measured."""
    for name in path.split("."):
        figures = figures.get(name, {})
    return figures or None


def judged(figures: dict[str, Any], targets: Path) -> list[dict[str, Any]]:
    """Compares the targets of a file with the medians; leaves out targets whose figure was not measured."""
    found = [
        (target, figure(figures, target["figure"])) for target in tomllib.loads(targets.read_text("utf-8"))["target"]
    ]
    return [
        target | {"measured": measured, "reached": _reached(measured["median"], **target)}
        for target, measured in found
        if measured
    ]


def _reached(median: float, *, at_least: float = -math.inf, at_most: float = math.inf, **_: str) -> bool:
    return at_least <= median <= at_most
