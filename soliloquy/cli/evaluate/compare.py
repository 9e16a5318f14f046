"""`soliloquy evaluate compare`."""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from soliloquy.runs.failure import Failure
from training.evaluation.comparison import Incomparable, SavedEvaluation, head, page, read, rows

COMPARISON = "comparison"


@click.command()
@click.argument(
    "folders",
    metavar="DIR..",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write it there too: a page, a picture.")
@click.option("--json", "as_json", is_flag=True, help="Print the reports as one JSON object and nothing else.")
def compare(*, folders: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Evaluations of the same cases side by side: a base model and what was tuned from it, or several engines."""
    try:
        evaluations = read(folders)
    except Incomparable as error:
        raise Failure(str(error)) from error
    if out:
        _write(out, evaluations)
    if as_json:
        click.echo(json.dumps({name: evaluation.report for name, evaluation in evaluations.items()}))
        return
    table = Table(*head(evaluations))
    for row in rows(evaluations):
        table.add_row(*row)
    Console().print(table)


def _write(out: Path, evaluations: Mapping[str, SavedEvaluation]) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{COMPARISON}.md").write_text("\n".join(page(evaluations)) + "\n", "utf-8")
        if find_spec("matplotlib"):
            from training.evaluation.picture import draw

            draw(out / f"{COMPARISON}.svg", {name: evaluation.report for name, evaluation in evaluations.items()})
    except OSError as error:
        raise Failure(f"{out} cannot be written ({error.strerror}): choose another --out") from error
