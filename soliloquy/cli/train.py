import json
from pathlib import Path

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.launching import LAUNCH, Launch, train_observed
from soliloquy.cli.main import INTERRUPTED
from soliloquy.cli.observing import METRICS, serving_metrics
from soliloquy.cli.options import AS_JSON, NEW_FOLDER, QUIET, RESOLVED_FOLDER
from soliloquy.cli.tables import facts
from soliloquy.cli.terminal import answer, echo


@click.command(cls=Command)
def train(
    *,
    base: Path = setting("The model's weights and tokenizer.", type=RESOLVED_FOLDER, metavar="DIR"),
    data: str = setting("A dataset, or the folder of `soliloquy freeze`.", metavar="DIR|URL"),
    name: str = setting("The name of the training; its folder is OUT/NAME."),
    out: Path = setting("The folder of all trainings.", default="trained", type=NEW_FOLDER),
    adapter: Path | None = setting("The adapter to start from.", "--from", type=RESOLVED_FOLDER, metavar="DIR"),
    metrics: str | None = METRICS,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    launch: Launch = LAUNCH,
) -> None:
    """Tune a model on the conversations of a dataset.

    The model learns the tutor's own words: decisions, programs and replies, each after the prompt that the recipe uses
    when the model is served. Run the same command again to resume, even after `kill -9`; the result is the same.
    """
    if not name or "/" in name or name.startswith("."):
        raise click.UsageError(f"invalid --name {name!r}: use letters, digits and dashes")
    from soliloquy_training.folder import Job
    from soliloquy_training.settings import read_settings

    try:
        settings = read_settings(launch.file)
        job = Job(settings=settings, base=base, data=data, folder=out.resolve() / name, adapter=adapter)
        with serving_metrics(metrics):
            train_observed(launch, job, quiet=quiet or as_json)
    except KeyboardInterrupt:
        echo("soliloquy: stopped: run the same command to resume from the newest checkpoint", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    report = json.loads((job.folder / "report.json").read_bytes())
    report["folder"] = str(job.folder)
    answer(report, [facts(report)], as_json=as_json, quiet=quiet)
