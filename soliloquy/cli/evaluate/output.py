"""Writes an evaluation's report into a folder, and prints it as tables or as JSON."""

import json
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from soliloquy.cli.errors import writing_to

if TYPE_CHECKING:
    from training.evaluation.report import CaseResult


def deliver(
    out: Path,
    report: Mapping[str, Any],
    results: "Iterable[CaseResult]",
    page: Iterable[str],
    *,
    tables: Iterable[Table],
    as_json: bool,
    quiet: bool,
) -> None:
    from training.evaluation.report import write_report

    with writing_to(out):
        write_report(out, report, results, page)
        _draw(out, report, quiet=quiet or as_json)
    if as_json:
        click.echo(json.dumps(report))
    elif not quiet:
        for table in tables:
            Console().print(table)
        click.echo(f"evidence in {out}")


def figures_table(report: Mapping[str, Any], names: Iterable[str]) -> Table:
    """Returns a table with a row for each metric; a command may add rows of its own."""
    from training.evaluation.report import format_figure, format_published

    table = Table("metric", "share of cases, with its 95 % interval", report["whose"], title=report["name"])
    for name in names:
        table.add_row(report["titles"][name], format_figure(report, name), format_published(report, name))
    return table


def _draw(out: Path, report: Mapping[str, Any], *, quiet: bool) -> None:
    from training.evaluation.report import PICTURE

    if find_spec("matplotlib") is None:
        if not quiet:
            click.echo(f"no {PICTURE}: matplotlib is not installed: pip install 'soliloquy[train]'", err=True)
        return
    from training.evaluation.picture import draw

    draw(out / PICTURE, {report["name"]: report})
