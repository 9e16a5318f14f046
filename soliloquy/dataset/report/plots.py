"""Draws plots as SVG and lists of bars, in the page's colours, with round numbers on the axes."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from soliloquy.dataset.tables import percent

_WIDE, _HIGH = 326, 186
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 22, 40
_TICKS = 4
_MOST_BARS = 8
# The least height of a row of several, and the part of it that its name takes.
_ROW, _NAME = 54, 22

Points = Sequence[tuple[float, float]]


class Axes(NamedTuple):
    # The name of the quantity that goes up, and whether it is a count, which has no halves.
    of: str
    # Across.
    unit: str
    label: Callable[[float], str]
    ticks: Sequence[float]
    counted: bool = True


class Bar(NamedTuple):
    """A part of a whole; the track of the bar is the whole."""

    name: str
    # Two pieces are drawn one after the other.
    pieces: tuple[int, ...]
    whole: int
    fault: bool = False
    # Leads to the conversations that were counted.
    link: str = ""


def shares(counted: Mapping[str, int], whole: int = 0, *, faults: bool = False) -> list[Bar]:
    """Returns a bar for each count, as a part of `whole` or else of their sum."""
    return [Bar(name, (count,), whole or sum(counted.values()), faults) for name, count in counted.items()]


def most(counted: Mapping[str, int]) -> dict[str, int]:
    """Returns the most frequent values, and the rest as one."""
    rows = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
    shown = dict(rows[:_MOST_BARS] if len(rows) > _MOST_BARS + 1 else rows)
    if len(shown) < len(rows):
        shown[f"{len(rows) - len(shown)} others"] = sum(count for _, count in rows[len(shown) :])
    return shown


def card(title: str, gist: str, body: str, *, wide: bool = False) -> str:
    kind = "plot wide" if wide else "plot"
    return f'<section class="{kind}"><h3>{escape(title)}</h3><p class="gist">{escape(gist)}</p>{body}</section>\n'


def bars(listed: Iterable[Bar], *, title: str = "") -> str:
    """Draws each bar on a track that stands for its whole. Empty for no bars."""
    rows = list(listed)
    alike = len({bar.whole for bar in rows}) == 1
    items = "".join(_bar(bar, alike=alike) for bar in rows)
    above = f"<h4>{escape(title)}</h4>" if title else ""
    return f'{above}<ul class="shares">{items}</ul>' if rows else ""


def _bar(bar: Bar, *, alike: bool) -> str:
    rects, reached = "", 0.0
    for piece in bar.pieces:
        width = piece / bar.whole * 100
        rects += f'<rect x="{reached:.2f}" width="{width:.2f}" height="6"/>'
        reached += width
    count = sum(bar.pieces)
    told = percent(count, bar.whole) if alike else f"of {short(bar.whole)}"
    name = f'<a href="#{escape(bar.link)}">{escape(bar.name)}</a>' if bar.link else escape(bar.name)
    kind = ' class="fault"' if bar.fault else ""
    return (
        f"<li{kind}><span>{name}</span><b>{short(count)}<span>{told}</span></b>"
        f'<svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">{rects}</svg></li>'
    )


def rows(counted: Mapping[str, Points], axes: Axes, *, width: float) -> str:
    """Draws histograms in rows over one axis, each scaled to its own maximum, so that rare values stay visible."""
    places = [place for points in counted.values() for place, _ in points]
    x = _across(min(places), max(places) + width, _RIGHT)
    row = max(_ROW, (_HIGH - _BOTTOM) // len(counted))
    bottom = len(counted) * row
    drawn = []
    for number, (name, points) in enumerate(counted.items(), start=1):
        base, most = number * row, max(count for _, count in points)
        drawn.append(f'<text class="unit" x="0" y="{base - row + 14}">{escape(name)}</text>')
        for place, count in points:
            tall = max(count / most * (row - _NAME), 1)
            drawn.append(
                f'<rect class="mass" x="{x(place) + 0.75:.1f}" y="{base - tall:.1f}" '
                f'width="{max(x(place + width) - x(place) - 1.5, 0.5):.1f}" height="{tall:.1f}" rx="1.5">'
                f"<title>{escape(axes.label(place))}: {count:,.0f}</title></rect>"
            )
        drawn.append(f'<path class="axis" d="M0,{base}H{_WIDE}"/>')
    return _chart("".join(drawn) + _axis(x, bottom, axes), bottom + _BOTTOM, axes)


def curves(lines: Sequence[Points], axes: Axes) -> str:
    """Draws the first line as a filled area and the others over it."""
    places, heights = zip(*(point for line in lines for point in line), strict=True)
    highest = max(heights) or 1
    ticks = round_ticks(0, highest, _TICKS, counted=axes.counted)
    step = ticks[1] if len(ticks) > 1 else 1
    # The top grid line lies above the highest value.
    steps = math.ceil(highest / step - 1e-9)
    x, bottom = _across(min(places), max(places), _LEFT), _HIGH - _BOTTOM

    def y(value: float) -> float:
        return bottom - value / (steps * step) * (bottom - _TOP)

    drawn = [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        f'<text x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{short(tick)}</text>'
        for tick in (number * step for number in range(steps + 1))
    ]
    for number, line in enumerate(lines):
        path = "L".join(f"{x(place):.1f},{y(height):.1f}" for place, height in line)
        if number == 0:
            ends = f"L{x(line[-1][0]):.1f},{bottom}L{x(line[0][0]):.1f},{bottom}Z"
            drawn.append(f'<path class="area" d="M{path}{ends}"/>')
        drawn.append(f'<path class="{"second" if number else "curve"}" d="M{path}"/>')
    drawn.append(f'<path class="axis" d="M{_LEFT},{bottom}H{_WIDE - _RIGHT}"/>{_axis(x, bottom, axes)}')
    drawn.append(f'<text class="unit" x="0" y="10">{escape(axes.of)}</text>')
    return _chart("".join(drawn), _HIGH, axes)


def _across(low: float, high: float, left: float) -> Callable[[float], float]:
    """Returns a function from values between these to places from `left` to the right edge."""
    return lambda value: left + (value - low) / ((high - low) or 1) * (_WIDE - left - _RIGHT)


def round_ticks(low: float, high: float, most: int, *, counted: bool = True) -> list[float]:
    """Returns round numbers from low to high, about `most` of them; whole numbers where something is counted."""
    span = high - low
    if span <= 0:
        return [low]
    raw = max(span / most, 1 if counted else 0)
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def short(number: float) -> str:
    """Formats a number for an axis or a cell: 950, 2,400, 12.3k, 3.4M."""
    if number >= 1e6:
        return f"{number / 1e6:.3g}M"
    if number >= 1e4:
        return f"{number / 1e3:.3g}k"
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:.2g}"


def _axis(x: Callable[[float], float], bottom: float, axes: Axes) -> str:
    return "".join(
        f'<text x="{x(tick):.1f}" y="{bottom + 17}" text-anchor="middle">{escape(axes.label(tick))}</text>'
        f'<path class="axis" d="M{x(tick):.1f},{bottom}v4"/>'
        for tick in axes.ticks
    )


def _chart(content: str, high: float, axes: Axes) -> str:
    of, unit = escape(axes.of), escape(axes.unit)
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDE} {high}" role="img" aria-label="{of} by {unit}">'
        f'{content}<text class="unit" x="{_WIDE - _RIGHT}" y="{high - 4}" text-anchor="end">{unit}</text></svg>'
    )
