"""An evaluation's report as a user gets it: written into a folder, and as a table or an object on the terminal."""

import json
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from soliloquy.runs.failure import Failure
from training.evaluation.report import PICTURE, CaseResult, format_figure, format_published, write_report


def deliver(
    out: Path,
    report: Mapping[str, Any],
    results: Iterable[CaseResult],
    page: Iterable[str],
    *,
    tables: Iterable[Table],
    as_json: bool,
    quiet: bool,
) -> None:
    try:
        write_report(out, report, results, page)
        _draw(out, report, quiet=quiet or as_json)
    except OSError as error:
        raise Failure(f"{out} cannot be written ({error.strerror}): choose another --out") from error
    if as_json:
        click.echo(json.dumps(report))
    elif not quiet:
        for table in tables:
            Console().print(table)
        click.echo(f"evidence in {out}")


def figures_table(report: Mapping[str, Any], names: Iterable[str]) -> Table:
    """A row each of these metrics and measures; a command may add its own below."""
    table = Table("metric", "share of cases, with its 95 % interval", report["whose"], title=report["name"])
    for name in names:
        table.add_row(report["titles"][name], format_figure(report, name), format_published(report, name))
    return table


def _draw(out: Path, report: Mapping[str, Any], *, quiet: bool) -> None:
    if find_spec("matplotlib") is None:
        if not quiet:
            click.echo(f"no {PICTURE}: matplotlib is missing: pip install 'soliloquy[train]'", err=True)
        return
    from training.evaluation.picture import draw

    draw(out / PICTURE, {report["name"]: report})
