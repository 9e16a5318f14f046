"""Writes an evaluation's files: the figures as JSON, page and picture, the evidence of each case, and a log of Inspect.

Each protocol brings a result per case and a report with these keys, which pictures and comparisons rely on:

- `protocol`, `name`: the protocol and who was evaluated
- `cases`: `sha256`, the digest of the cases, and `put`, their description
- `titles`: the names of metrics and measures, in table order
- `figures`: `metrics`, a `Share` each; `read_at_first`, a `Share`; optionally `measures`, a number each, None
  if not measured
- `paper`: the published figures by metric or measure; `whose`: their source
- `curves`: the metrics of each curve by its title, for protocols that are drawn as curves and not as bars

A case's row has its id under `case`, and under `passed` each metric that applies to it. Inspect shows its
`messages` or `rounds`, or the exchange of `student` and `reply`.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from soliloquy.runtime.files import atomic_file
from soliloquy_training.evaluation.cases import CaseResult
from soliloquy_training.evaluation.inspect_log import write_log

REPORT = "report.json"
CASES = "cases.jsonl"
PAGE = "report.md"
PICTURE = "report.svg"
INSPECT_LOG = "report.eval"


def write_report(folder: Path, report: Mapping[str, Any], results: Iterable[CaseResult], page: Iterable[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [result.as_json() for result in results]
    (folder / CASES).write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")
    write_log(folder / INSPECT_LOG, report, rows)
    (folder / PAGE).write_text("\n".join(page) + "\n", "utf-8")
    # Written last and atomically: a folder with a report holds a complete evaluation.
    with atomic_file(folder / REPORT) as file:
        file.write(json.dumps(report, indent=2).encode() + b"\n")


def format_share(share: Mapping[str, Any]) -> str:
    """Formats a share as "0.96 (48 of 50, 0.87 to 0.99)"."""
    if share["share"] is None:
        return "no case"
    return f"{share['share']:.2f} ({share['passed']:g} of {share['of']}, {share['low']:.2f} to {share['high']:.2f})"


def is_measured(report: Mapping[str, Any], name: str) -> bool:
    """Whether there is a share, possibly of no case, or a number."""
    made = report["figures"]
    return name in made["metrics"] or made["measures"][name] is not None


def format_figure(report: Mapping[str, Any], name: str) -> str:
    """Formats a metric's share or a measure's number."""
    made = report["figures"]
    if name in made["metrics"]:
        return format_share(made["metrics"][name])
    value = made["measures"][name]
    return "not measured" if value is None else f"{value:.2f}"


def figure_rows(report: Mapping[str, Any], names: Iterable[str]) -> list[list[str]]:
    """Returns the title, the figure and the published figure, if there is one, of each metric or measure."""
    published = {name: f"{value:.2f}" for name, value in report["paper"].items()}
    return [[report["titles"][name], format_figure(report, name), published.get(name, "")] for name in names]
