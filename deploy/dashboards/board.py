"""The schema of a dashboard file: rows of panels, each with its Prometheus queries and what good looks like."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

FOLDER = Path(__file__).parent
# The chart's dashboards.
CHART = FOLDER.parent / "helm" / "soliloquy" / "files" / "dashboards"
# Columns of Grafana's grid.
COLUMNS = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    title: str
    draw: Literal["numbers", "lines", "areas"]
    # Grafana's unit names, such as s, short, percentunit; suffix:/s is a custom unit.
    unit: str
    # Width in columns, 24 at most.
    wide: int
    # Legend to query. Boards add cluster, namespace and release to each metric.
    ask: Mapping[str, str]
    # Describes a healthy panel, and what a deviation means.
    good: str
    digits: int | None = None
    # Lower and upper end of the axis.
    least: float | None = 0
    most: float | None = None
    # Text in place of a missing number.
    nothing: str = "–"
    # Text in place of single values.
    words: Mapping[str, str] = field(default_factory=dict)
    red_from: float | None = None
    red_below: float | None = None

    @property
    def high(self) -> int:
        return 4 if self.draw == "numbers" else 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    uid: str
    title: str
    about: str
    row: Mapping[str, Sequence[Panel]]
    # Variables that select values of a label: name to query.
    choices: Mapping[str, str] = field(default_factory=dict)
    # Variables that a person types in: name to default.
    entries: Mapping[str, str] = field(default_factory=dict)


def boards() -> dict[str, Board]:
    """Returns all boards by the name of their file."""
    board = TypeAdapter(Board)
    files = sorted(FOLDER.glob("*.toml"))
    return {path.stem: board.validate_python(tomllib.loads(path.read_text("utf-8"))) for path in files}
