"""What the figures should be, beside what they are."""

import math
import tomllib
from pathlib import Path
from typing import Any

from benchmarks.runtime.figures import figure


def judged(figures: dict[str, Any], targets: Path) -> list[dict[str, Any]]:
    """Every target of a file whose figure was measured, held against the figure's median."""
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
