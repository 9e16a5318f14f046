"""`soliloquy evaluate compare`."""

import json
from pathlib import Path

import click
from rich.table import Table

from soliloquy.cli.command import Command, setting
from soliloquy.cli.evaluate.output import draw_picture
from soliloquy.cli.options import AS_JSON, EXISTING_FOLDER, NEW_FOLDER, writing_to
from soliloquy.cli.terminal import echo, open_console
from soliloquy.runtime.foreign import refuse_foreign

COMPARISON = "comparison"


@click.command(cls=Command)
@click.argument("folders", metavar="DIR..", nargs=-1, required=True, type=EXISTING_FOLDER)
def compare(
    *,
    out: Path | None = setting("Also write the comparison to this folder, as a page and a picture.", type=NEW_FOLDER),
    as_json: bool = AS_JSON,
    folders: tuple[Path, ...],
) -> None:
    """Compare evaluations of the same cases.

    For example, compare a base model with the model tuned from it, or the same model on several engines.
    """
    from soliloquy_training.evaluation.comparison import head, page, read, rows
    from soliloquy_training.evaluation.report import REPORT

    if out:
        refuse_foreign(out, f"{COMPARISON}.md", REPORT)
    evaluations = read(folders)
    reports = {name: evaluation.report for name, evaluation in evaluations.items()}
    if out:
        with writing_to(out):
            out.mkdir(parents=True, exist_ok=True)
            (out / f"{COMPARISON}.md").write_text("\n".join(page(evaluations)) + "\n", "utf-8")
            draw_picture(out / f"{COMPARISON}.svg", reports, quiet=as_json)
    if as_json:
        echo(json.dumps(reports))
        return
    table = Table(*head(evaluations))
    for row in rows(evaluations):
        table.add_row(*row)
    open_console().print(table)
