"""Draws the figures of one or several evaluations."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib

_HEIGHT = 0.8

Reports = Mapping[str, Mapping[str, Any]]


def draw(path: Path, reports: Reports) -> None:
    """Draws curves if the protocol has any, else bars; the same figures give the same bytes."""
    first = next(iter(reports.values()))
    if curves := first.get("curves"):
        _curves(path, reports, curves)
    else:
        _bars(path, reports, [metric for metric in first["titles"] if metric in first["figures"]["metrics"]])


def _bars(path: Path, reports: Reports, metrics: Sequence[str]) -> None:
    first = next(iter(reports.values()))
    with _figure(path, 1, (8, 1.2 + 0.5 * len(metrics) * (1 + len(reports)) / 2)) as [axes]:
        thickness = _HEIGHT / len(reports)
        for place, (name, report) in enumerate(reports.items()):
            shares = [report["figures"]["metrics"][metric] for metric in metrics]
            at = [row + thickness * (place - (len(reports) - 1) / 2) for row in range(len(metrics))]
            lengths = [share["share"] or 0.0 for share in shares]
            axes.barh(at, lengths, thickness * 0.9, xerr=_reach(shares), capsize=3, label=name)
        published = [(row, first["paper"][metric]) for row, metric in enumerate(metrics) if metric in first["paper"]]
        for number, (row, value) in enumerate(published):
            label = first["whose"] if number == 0 else None
            axes.plot([value] * 2, [row - _HEIGHT / 2, row + _HEIGHT / 2], "k:", label=label)
        axes.set_yticks(range(len(metrics)), [first["titles"][metric] for metric in metrics])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.02)
        axes.set_xlabel("share of cases, with its 95 % interval")


def _curves(path: Path, reports: Reports, curves: Mapping[str, Sequence[str]]) -> None:
    with _figure(path, len(curves), (4.5 * len(curves), 4)) as panels:
        for place, (axes, (title, metrics)) in enumerate(zip(panels, curves.items(), strict=True)):
            at = range(1, len(metrics) + 1)
            for name, report in reports.items():
                shares = [report["figures"]["metrics"][metric] for metric in metrics]
                heights = [share["share"] or 0.0 for share in shares]
                label = name if place == 0 else None
                axes.errorbar(at, heights, yerr=_reach(shares), capsize=3, marker="o", label=label)
            axes.set_xticks(at)
            axes.set_ylim(0, 1.02)
            axes.set_xlabel("k")
            axes.set_title(f"{title}, with its 95 % interval")


def _reach(shares: Sequence[Mapping[str, Any]]) -> list[list[float]]:
    """Returns the distances from each share to the ends of its interval."""
    lengths = [share["share"] or 0.0 for share in shares]
    return [
        [max(0.0, length - share["low"]) for length, share in zip(lengths, shares, strict=True)],
        [max(0.0, share["high"] - length) for length, share in zip(lengths, shares, strict=True)],
    ]


@contextmanager
def _figure(path: Path, panels: int, size: tuple[float, float]) -> Iterator[Sequence[Any]]:
    matplotlib.use("Agg")
    from matplotlib import pyplot

    # A name may have characters that the font lacks.
    plain = {"svg.hashsalt": "soliloquy", "svg.fonttype": "none", "text.parse_math": False}
    drawn_alike = matplotlib.rc_context(plain)
    with warnings.catch_warnings(action="ignore"), drawn_alike:
        figure, axes = pyplot.subplots(1, panels, figsize=size, squeeze=False)
        yield axes[0]
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
        pyplot.close(figure)
