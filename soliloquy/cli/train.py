"""`soliloquy train`: a model tuned on a dataset."""

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from soliloquy.cli.launching import CONFIG, METRICS, Launch, launch_options
from soliloquy.cli.main import INTERRUPTED
from soliloquy.cli.training_view import Bar, Silent, exported, following
from soliloquy.runs.failure import Failure

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True)


@click.command()
@CONFIG
@click.option("--base", required=True, type=_FOLDER, metavar="DIR", help="The model's weights and tokenizer.")
@click.option("--data", required=True, metavar="DIR|URL", help="A dataset, or what soliloquy freeze made.")
@click.option("--name", required=True, help="Of the training; its folder is OUT/NAME.")
@click.option(
    "--out",
    default="trained",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Where trainings are kept.",
)
@click.option("--from", "adapter", type=_FOLDER, metavar="DIR", help="An adapter to go on from.")
@METRICS
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@launch_options
def train(
    *,
    launch: Launch,
    base: Path,
    data: str,
    name: str,
    out: Path,
    adapter: Path | None,
    metrics: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Tune a model on a dataset's conversations.

    What is learned are the tutor's own words: decisions, programs and replies, each behind the very prompt that the
    recipe asks when the model is served. The same command goes on where it stopped, also after `kill -9`, and comes to
    the same end.
    """
    if not name or "/" in name or name.startswith("."):
        raise click.UsageError(f"{name!r} names no folder: use letters, digits and dashes")
    from training.folder import Job
    from training.settings import CannotTrain, read_settings

    shown = Silent() if quiet or as_json else Bar(Console(stderr=True))
    try:
        settings = read_settings(launch.file)
        job = Job(settings=settings, base=base, data=data, folder=out.resolve() / name, adapter=adapter)
        with exported(metrics), following(job.folder, shown):
            launch.train(job, shown.reading)
    except CannotTrain as error:
        raise Failure(str(error)) from error
    except KeyboardInterrupt:
        click.echo("soliloquy: stopped; the same command goes on from the newest checkpoint", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    report = json.loads((job.folder / "report.json").read_bytes())
    if as_json:
        click.echo(json.dumps(report | {"folder": str(job.folder)}))
    elif not quiet:
        _print(report, job.folder)


def _print(report: dict[str, Any], folder: Path) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    for name, value in report.items():
        shown = ", ".join(f"{key} {each}" for key, each in value.items()) if isinstance(value, dict) else str(value)
        table.add_row(name.replace("_", " "), shown)
    table.add_row("folder", str(folder))
    Console().print(table)
