"""The figures of one evaluation, or of several side by side, as a picture."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

from training.evaluation.judging import METRICS
from training.evaluation.report import PAPER

_HEIGHT = 0.8


def draw(path: Path, reports: Mapping[str, Mapping[str, Any]]) -> None:
    """The same figures make the same file, byte for byte."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with matplotlib.rc_context({"svg.hashsalt": "soliloquy", "svg.fonttype": "none"}):
        figure, axes = pyplot.subplots(figsize=(8, 1.2 + 0.5 * len(METRICS) * (1 + len(reports)) / 2))
        thickness = _HEIGHT / len(reports)
        for place, (name, report) in enumerate(reports.items()):
            shares = [report["figures"]["metrics"][metric] for metric in METRICS]
            at = [row + thickness * (place - (len(reports) - 1) / 2) for row in range(len(METRICS))]
            lengths = [share["share"] or 0.0 for share in shares]
            reach = [
                [max(0.0, length - share["low"]) for length, share in zip(lengths, shares, strict=True)],
                [max(0.0, share["high"] - length) for length, share in zip(lengths, shares, strict=True)],
            ]
            axes.barh(at, lengths, thickness * 0.9, xerr=reach, capsize=3, label=name)
        for row, metric in enumerate(METRICS):
            label = "the paper's Higgs" if row == 0 else None
            axes.plot([PAPER[metric]] * 2, [row - _HEIGHT / 2, row + _HEIGHT / 2], "k:", label=label)
        axes.set_yticks(range(len(METRICS)), list(METRICS.values()))
        axes.invert_yaxis()
        axes.set_xlim(0, 1.02)
        axes.set_xlabel("share of cases, with its 95 % interval")
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
        pyplot.close(figure)
