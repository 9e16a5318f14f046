"""Writes and prints the report of an evaluation, and `soliloquy evaluate compare`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from soliloquy.annotation.rows import read_annotations
from soliloquy.annotation.scheme import scheme_of
from soliloquy.annotation.tasks import read_tasks
from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, EXISTING_FILE, EXISTING_FOLDER, NEW_FOLDER, writing_to
from soliloquy.cli.tables import table
from soliloquy.cli.terminal import answer, echo
from soliloquy.dataset.tables import plain
from soliloquy.runtime.extensions import NotInstalled
from soliloquy.runtime.files import refuse_foreign

if TYPE_CHECKING:
    from soliloquy_training.evaluation.cases import CaseResult


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluated:
    report: Mapping[str, Any]
    results: "Sequence[CaseResult]"
    page: Iterable[str]
    # With lines between.
    tables: Iterable[Table | str]

    def write(self, out: Path) -> None:
        from soliloquy_training.evaluation.report import write_report

        write_report(out, self.report, self.results, self.page)


def deliver(out: Path, evaluated: Evaluated, *, as_json: bool, quiet: bool) -> None:
    from soliloquy_training.evaluation.report import PICTURE

    with writing_to(out):
        evaluated.write(out)
        draw_picture(out / PICTURE, {evaluated.report["name"]: evaluated.report}, quiet=quiet or as_json)
    answer(evaluated.report, chain(evaluated.tables, [f"evidence in {out}"]), as_json=as_json, quiet=quiet)


def figures_table(report: Mapping[str, Any], names: Iterable[str]) -> Table:
    """Returns a table with a row for each metric; a command may add rows of its own."""
    from soliloquy_training.evaluation.report import figure_rows

    heads = ("metric", "share of cases, with its 95 % interval", report["whose"])
    made = table(*heads, rows=figure_rows(report, names), align="left")
    made.title = report["name"]
    return made


def draw_picture(path: Path, reports: Mapping[str, Mapping[str, Any]], *, quiet: bool) -> None:
    if find_spec("matplotlib") is None:
        if not quiet:
            echo(f"no {path.name}: {NotInstalled('matplotlib', 'train')}", err=True)
        return
    from soliloquy_training.evaluation.picture import draw

    draw(path, reports)


COMPARISON = "comparison"


@click.command(cls=Command)
@click.argument("folders", metavar="DIR..", nargs=-1, required=True, type=EXISTING_FOLDER)
def compare(
    *,
    out: Path | None = setting("Also write the comparison to this folder, as a page and a picture.", type=NEW_FOLDER),
    annotations: Path | None = setting(
        "Annotations of the tasks of two of them, to say which people prefer.", type=EXISTING_FILE, metavar="FILE"
    ),
    tasks: Path | None = setting("The tasks of the annotations.", type=EXISTING_FILE, metavar="FILE"),
    scheme: str = setting("The scheme of the annotations.", default="reply_preference", metavar="NAME|FILE"),
    as_json: bool = AS_JSON,
    folders: tuple[Path, ...],
) -> None:
    """Compare evaluations of the same cases.

    For example, compare a base model with the model tuned from it, or the same model on several engines.
    `soliloquy annotations sample DIR --beside DIR` draws tasks for annotators.
    """
    if (annotations is None) != (tasks is None):
        raise click.UsageError("--annotations and --tasks require each other")
    from soliloquy_training.evaluation.comparison import head, page, read, rows
    from soliloquy_training.evaluation.people import preference_lines, preferred
    from soliloquy_training.evaluation.report import REPORT

    if out:
        refuse_foreign(out, f"{COMPARISON}.md", REPORT)
    evaluations = read(folders)
    reports = {name: evaluation.report for name, evaluation in evaluations.items()}
    told = list[str]()
    if annotations and tasks:
        found = preferred(evaluations, read_annotations(annotations), read_tasks(tasks), scheme_of(scheme))
        reports = {name: {**report, "preferred": found} for name, report in reports.items()}
        told = [*preference_lines(found)]
    if out:
        with writing_to(out):
            out.mkdir(parents=True, exist_ok=True)
            (out / f"{COMPARISON}.md").write_text(
                "\n".join([*page(evaluations), *(f"\n{plain(line)}" for line in told)]) + "\n", "utf-8"
            )
            draw_picture(out / f"{COMPARISON}.svg", reports, quiet=as_json)
    answer(reports, [table(*head(evaluations), rows=rows(evaluations), align="left"), *told], as_json=as_json)
