"""Draws a dashboard from Prometheus' answers without Grafana: same grid, titles, units and legends."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib import dates, ticker
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image

from deploy.dashboards.board import COLUMNS
from tests.observability.units import told

# One series: labels, and values by time.
Line = tuple[Mapping[str, str], Sequence[tuple[float, float]]]
# Evaluates a dashboard's query at one time, or over a range.
Ask = Callable[[str, bool], Sequence[Line]]

_DOTS_PER_INCH = 100
# Size of a grid cell in pixels, as in Grafana on a wide screen.
_CELL_WIDE, _CELL_HIGH = 64, 33
_GAP = 5
_INK, _DIM, _EDGE, _GROUND = "#1f2329", "#6b7280", "#dfe3e8", "#f4f5f7"
_GOOD, _BAD = "#2a8a4a", "#c4302b"
# One per series; further series are not drawn.
_COLOURS = (
    *("#3274d9", "#e0752d", "#56a64b", "#a352cc", "#e02f44", "#37a2a2", "#c9a100", "#7a7f87"),
    *("#b8629b", "#5f6ad4", "#8f5a2a", "#6fb7e9", "#9bbf3b", "#f2a1a1"),
)
# Palette size: a third of the bytes without a visible difference.
_PALETTE = 128


class Sheet:
    """Returns the panel's area in pixels from the upper left."""

    def __init__(self, cells: int) -> None:
        self.wide, self.high = COLUMNS * _CELL_WIDE + 2 * _GAP, cells * _CELL_HIGH + 2 * _GAP
        self.figure = Figure(
            figsize=(self.wide / _DOTS_PER_INCH, self.high / _DOTS_PER_INCH), dpi=_DOTS_PER_INCH, facecolor=_GROUND
        )

    def text(self, x: float, y: float, words: str, **how: Any) -> None:
        how = {"va": "center", "color": _INK, "fontsize": 9, **how}
        self.figure.text(x / self.wide, 1 - y / self.high, words, **how)

    def box(self, x: float, y: float, wide: float, high: float) -> None:
        corner = (x / self.wide, 1 - (y + high) / self.high)
        shape = FancyBboxPatch(
            corner,
            wide / self.wide,
            high / self.high,
            boxstyle="round,pad=0,rounding_size=0.002",
            facecolor="white",
            edgecolor=_EDGE,
            linewidth=0.8,
            transform=self.figure.transFigure,
            zorder=-1,
        )
        self.figure.add_artist(shape)

    def axes(self, x: float, y: float, wide: float, high: float) -> Any:
        return self.figure.add_axes((x / self.wide, 1 - (y + high) / self.high, wide / self.wide, high / self.high))


def draw(dashboard: Mapping[str, Any], ask: Ask, over: tuple[float, float], path: Path) -> None:
    """Draws Grafana's JSON of a dashboard over a time range."""
    panels = dashboard["panels"]
    sheet = Sheet(max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels))
    for panel in panels:
        grid = panel["gridPos"]
        x, y = _GAP + grid["x"] * _CELL_WIDE, _GAP + grid["y"] * _CELL_HIGH
        wide, high = grid["w"] * _CELL_WIDE, grid["h"] * _CELL_HIGH
        if panel["type"] == "row":
            sheet.text(x + _GAP, y + high / 2 + 3, panel["title"], fontsize=11, weight="bold")
            continue
        sheet.box(x + _GAP / 2, y + _GAP / 2, wide - _GAP, high - _GAP)
        sheet.text(x + 14, y + 17, panel["title"], fontsize=9.5, weight="bold")
        if panel["type"] == "stat":
            _numbers(sheet, panel, ask, (x, y, wide, high))
        else:
            axes = _chart(sheet, panel, ask, (x, y, wide, high))
            axes.set_xlim(*map(datetime.fromtimestamp, over))
    png = BytesIO()
    sheet.figure.savefig(png, facecolor=_GROUND)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.open(png).convert("RGB").quantize(_PALETTE).save(path, optimize=True)


def _asked(panel: Mapping[str, Any], ask: Ask) -> list[tuple[str, Sequence[tuple[float, float]]]]:
    """Yields the legend and the points of each series."""
    found = []
    for target in panel["targets"]:
        answered = ask(target["expr"], target["instant"])
        of_target = [(_named(target["legendFormat"], labels), points) for labels, points in answered]
        found += sorted(of_target, key=lambda each: each[0])
    return found


def _named(legend: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"{{(\w+)}}", lambda label: labels.get(label[1], ""), legend)


def _numbers(sheet: Sheet, panel: Mapping[str, Any], ask: Ask, place: tuple[float, float, float, float]) -> None:
    x, y, wide, high = place
    how = panel["fieldConfig"]["defaults"]
    shown = [(name, points[-1][1]) for name, points in _asked(panel, ask)] or [("", math.nan)]
    part = wide / len(shown)
    words = [_value(value, how) for _, value in shown]
    size = min(24, part / max(map(len, words)))
    for number, (name, value) in enumerate(shown):
        middle = x + part * (number + 0.5)
        sheet.text(middle, y + 0.58 * high, words[number], ha="center", fontsize=size, color=_colour(value, how))
        if panel["options"]["textMode"] == "value_and_name":
            sheet.text(middle, y + 0.84 * high, name, ha="center", fontsize=8, color=_DIM)


def _value(value: float, how: Mapping[str, Any]) -> str:
    if math.isnan(value):
        return str(how["noValue"])
    for mapping in how["mappings"]:
        word = mapping["options"].get(f"{value:g}") if mapping["type"] == "value" else None
        if word:
            return str(word["text"])
    return told(value, how["unit"], how.get("decimals"))


def _colour(value: float, how: Mapping[str, Any]) -> str:
    steps = how["thresholds"]["steps"]
    reached = [step for step in steps if step["value"] is None or value >= step["value"]]
    return {"green": _GOOD, "red": _BAD}.get(reached[-1]["color"], _INK)


def _chart(sheet: Sheet, panel: Mapping[str, Any], ask: Ask, place: tuple[float, float, float, float]) -> Any:
    x, y, wide, high = place
    how = panel["fieldConfig"]["defaults"]
    series = _asked(panel, ask)
    lines = _legend(sheet, [name for name, _ in series], (x + 16, y + high, wide - 32))
    axes = sheet.axes(x + 62, y + 36, wide - 92, high - 66 - 15 * lines)
    stacked = "stacking" in how["custom"]
    _plot(axes, [points for _, points in series], stacked=stacked)
    level = all(value == 0 or math.isnan(value) for _, points in series for _, value in points)
    axes.set_ylim(bottom=0, top=how.get("max", 1 if level else None))
    axes.yaxis.set_major_locator(ticker.MaxNLocator(4, integer=how["unit"] == "short"))
    axes.yaxis.set_major_formatter(lambda value, _: told(value, how["unit"], None))
    axes.xaxis.set_major_locator(dates.AutoDateLocator(minticks=3, maxticks=6))
    axes.xaxis.set_major_formatter(dates.DateFormatter("%H:%M:%S"))
    axes.tick_params(labelsize=8, colors=_DIM, length=0)
    axes.grid(axis="both", color=_EDGE, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in axes.spines.values():
        side.set_visible(False)
    if not series:
        axes.text(0.5, 0.5, how["noValue"], transform=axes.transAxes, ha="center", color=_DIM)
    return axes


def _plot(axes: Any, series: Sequence[Sequence[tuple[float, float]]], *, stacked: bool) -> None:
    beneath: dict[float, float] = {}
    for number, points in enumerate(series[: len(_COLOURS)]):
        colour = _COLOURS[number]
        times = [datetime.fromtimestamp(at) for at, _ in points]
        if not stacked:
            axes.plot(times, [value for _, value in points], color=colour, linewidth=1.6)
            continue
        low = [beneath.get(at, 0.0) for at, _ in points]
        top = [under + (0.0 if math.isnan(value) else value) for under, (_, value) in zip(low, points, strict=True)]
        beneath |= {at: over for (at, _), over in zip(points, top, strict=True)}
        axes.fill_between(times, low, top, color=colour, alpha=0.35, linewidth=0)
        axes.plot(times, top, color=colour, linewidth=1)


def _legend(sheet: Sheet, names: Sequence[str], place: tuple[float, float, float]) -> int:
    """Draws the legend from the bottom of a panel upwards and returns its number of lines."""
    x, bottom, wide = place
    shown = list(names[: len(_COLOURS)])
    if len(names) > len(_COLOURS):
        shown.append(f"and {len(names) - len(_COLOURS)} more")
    lines: list[list[tuple[float, int, str]]] = [[]]
    reached = 0.0
    for number, name in enumerate(shown):
        needed = 24 + 6.4 * len(name)
        if reached + needed > wide and lines[-1]:
            lines.append([])
            reached = 0.0
        lines[-1].append((reached, number, name))
        reached += needed
    for place_of, line in enumerate(lines):
        y = bottom - 16 - 15 * (len(lines) - 1 - place_of)
        for left, number, name in line:
            colour = _COLOURS[number] if number < len(_COLOURS) else _DIM
            sheet.text(x + left, y, "━", fontsize=8, color=colour)
            sheet.text(x + left + 14, y, name, fontsize=8, color=_DIM)
    return len(lines)
