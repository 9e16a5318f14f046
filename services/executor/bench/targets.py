"""What the figures should be, beside what they are."""

import math
import tomllib
from pathlib import Path
from typing import Any

from services.executor.bench.figures import figure


def judged(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Every target whose figure was measured, held against the figure's median."""
    targets = tomllib.loads(Path(__file__).with_name("targets.toml").read_text("utf-8"))["target"]
    found = [(target, figure(figures, target["figure"])) for target in targets]
    return [
        target | {"measured": measured, "reached": _reached(measured["median"], **target)}
        for target, measured in found
        if measured
    ]


def _reached(median: float, *, at_least: float = -math.inf, at_most: float = math.inf, **_: str) -> bool:
    return at_least <= median <= at_most
