"""An evaluation's files: the figures as JSON, as a page, as a picture, and the evidence of each case.

A protocol plugs in with results of a case each and a report of its own; what stands in every report, so that it can be
drawn and set beside another:

- `protocol`, `name`: which protocol, and who was evaluated
- `cases`: with `sha256`, the digest of what was put to it, and `put`, the same in words
- `titles`: what its metrics and measures are called, in the order of the tables
- `figures`: `metrics`, a `Share` each; `read_at_first`, a `Share`; and where it has any `measures`, a number each, None
  where it was not measured
- `paper`: what was published, by metric or measure; `whose`: and of whom
- `curves`: where its picture is curves and not bars, the metrics of each by the curve's title

The row of a case has its id as `case`, and under `passed` each metric that it counts for.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

REPORT = "report.json"
CASES = "cases.jsonl"
PAGE = "report.md"
PICTURE = "report.svg"


class CaseResult(Protocol):
    """What came of one case."""

    def as_json(self) -> dict[str, Any]: ...


def write_report(folder: Path, report: Mapping[str, Any], results: Iterable[CaseResult], page: Iterable[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(result.as_json(), ensure_ascii=False) for result in results)
    (folder / CASES).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    (folder / PAGE).write_text("\n".join(page) + "\n", "utf-8")
    # The last, and at once: a folder with a report is a whole evaluation.
    unfinished = folder / f".{REPORT}.unfinished"
    unfinished.write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    unfinished.replace(folder / REPORT)


def read_report(folder: Path) -> dict[str, Any] | None:
    """None where there is no whole evaluation."""
    try:
        return dict(json.loads((folder / REPORT).read_bytes()))
    except FileNotFoundError:
        return None


def format_share(share: Mapping[str, Any]) -> str:
    """ "0.96 (48 of 50, 0.87 to 0.99)" """
    if share["share"] is None:
        return "no case"
    return f"{share['share']:.2f} ({share['passed']:g} of {share['of']}, {share['low']:.2f} to {share['high']:.2f})"


def is_measured(report: Mapping[str, Any], name: str) -> bool:
    """Whether there is a share or a number to tell, be it of no case."""
    made = report["figures"]
    return name in made["metrics"] or made["measures"][name] is not None


def format_figure(report: Mapping[str, Any], name: str) -> str:
    """A metric's share or a measure's number."""
    made = report["figures"]
    if name in made["metrics"]:
        return format_share(made["metrics"][name])
    value = made["measures"][name]
    return "not measured" if value is None else f"{value:.2f}"


def format_published(report: Mapping[str, Any], name: str) -> str:
    """Empty where nothing was."""
    return f"{report['paper'][name]:.2f}" if name in report["paper"] else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """In Markdown."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)
