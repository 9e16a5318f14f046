"""A dashboard as its file says: rows of panels, each with what it asks of Prometheus and what good looks like."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

FOLDER = Path(__file__).parent
# Where the chart has them.
CHART = FOLDER.parent / "helm" / "soliloquy" / "files" / "dashboards"
# The widest: Grafana's grid.
COLUMNS = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    title: str
    draw: Literal["numbers", "lines", "areas"]
    # By Grafana's names, such as s, short, percentunit; suffix:/s is a unit of our own.
    unit: str
    # Of 24 columns.
    wide: int
    # Queries by what the legend calls their series.
    ask: Mapping[str, str]
    # What good looks like, and what it means when it does not.
    good: str
    digits: int | None = None
    # The end of the axis.
    most: float | None = None
    # What is shown where there is no number.
    nothing: str = "–"
    # Words for single values.
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
    # Variables that choose among the values of a label, by their names.
    choices: Mapping[str, str] = field(default_factory=dict)
    # Variables that are typed in, with what they are at first.
    entries: Mapping[str, str] = field(default_factory=dict)

    @property
    def panels(self) -> list[Panel]:
        return [panel for panels in self.row.values() for panel in panels]


def boards() -> dict[str, Board]:
    """By the names of their files."""
    board = TypeAdapter(Board)
    files = sorted(FOLDER.glob("*.toml"))
    return {path.stem: board.validate_python(tomllib.loads(path.read_text("utf-8"))) for path in files}
