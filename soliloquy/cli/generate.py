"""`soliloquy generate`: generates a dataset, on this machine or with the services of a Kafka."""

import asyncio
import json
import logging
import time
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console
from rich.table import Table

from soliloquy.cli.durations import DURATION
from soliloquy.cli.kafka_options import kafka_options
from soliloquy.cli.main import INTERRUPTED
from soliloquy.cli.model_options import model_options
from soliloquy.cli.observing import observing
from soliloquy.cli.places import PLACE
from soliloquy.cli.progress import display
from soliloquy.cli.service_options import CLASSIFIERS
from soliloquy.dataset.storage import Storage
from soliloquy.problems.sources import BadProblemFile, UnknownProblems
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.recipe import DEFAULT, find
from soliloquy.runs.failure import Failure
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.generation import GenerationResult, generate_dataset, listed
from soliloquy.runs.plan import Plan, problems_of
from soliloquy.runtime.ask import BrokenPrompt
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy.runtime.transports.kafka import KafkaSettings

INCOMPLETE = 1
_WORK = "A local folder for the unfinished run.  [default: .run in the dataset's folder]"


@click.command()
@click.option("--problems", required=True, metavar="BANK|FILE", help="A bank's name (physics) or a JSONL file.")
@click.option(
    "--recipe",
    default=DEFAULT,
    show_default=True,
    type=click.Choice(list(known_recipes())),
    help="The recipe.",
)
@click.option("--conversations", required=True, type=click.IntRange(min=1), help="Accepted conversations wanted.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of all random draws.")
@click.option("--out", required=True, metavar="DIR|URL", type=PLACE, help="Folder of the dataset, local or in a store.")
@click.option("--work", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), help=_WORK)
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Worker processes.")
@click.option("--in-flight", default=64, show_default=True, type=click.IntRange(min=1), help="Conversations at once.")
@click.option("--latency", default="0ms", show_default=True, type=DURATION, help="Delay of the scripted model.")
@click.option(
    "--noise", default="none", show_default=True, type=click.Choice(["none", "real"]), help="Imitate real models."
)
@click.option("--max-turns", default=20, show_default=True, type=click.IntRange(min=2), help="Turns in a conversation.")
@click.option("--max-attempts", default=10, show_default=True, type=click.IntRange(min=1), help="Tries at a problem.")
@click.option("--enrich", is_flag=True, help="Explain and outline each solution for the tutor first.")
@CLASSIFIERS
@model_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@kafka_options()
@observing("generate", least=logging.WARNING)
@click.pass_context
def generate(
    context: click.Context,
    /,
    *,
    kafka: KafkaSettings | None,
    recipe: str,
    problems: str,
    out: Storage,
    work: Path | None,
    as_json: bool,
    quiet: bool,
    traces: TraceSettings,
    **settings: Any,
) -> None:
    """Grow a dataset of tutoring conversations.

    It runs on this machine, or with --kafka by the services that `soliloquy up` or a cluster keeps running. Those
    choose their own models: --noise, --model and the options of --model then only describe them.

    The same command resumes an interrupted run. The same seed gives the same files, byte for byte, whatever the number
    of workers and of conversations in flight, and wherever they run.
    """
    _refuse_with_kafka(context, kafka)
    if settings["classifiers"] and not find(recipe).topics:
        raise click.UsageError(f"--classifiers requires a recipe that writes problems: {recipe} does not")
    if kafka is None:
        _check_sandbox()
    try:
        source = problems_of(problems, recipe)
        plan = Plan.of(recipe, source, problems=problems, **settings)
    except (BadProblemFile, UnknownProblems, BrokenPrompt) as unusable:
        raise Failure(str(unusable)) from unusable
    started = time.monotonic()
    show = display(plan.conversations, quiet=quiet or as_json)
    result = generate_dataset(plan, source, RunFolder(out, plan, work), kafka, traces, show)
    report = result.report(seconds=time.monotonic() - started)
    if as_json:
        click.echo(json.dumps(report))
    elif not quiet:
        _print_table(report, out)
    if result.shortfall:
        click.echo(f"soliloquy: {result.shortfall}", err=True)
    context.exit(exit_status(result))


def exit_status(result: GenerationResult) -> int:
    return INTERRUPTED if result.interrupted else INCOMPLETE if result.shortfall else 0


def _check_sandbox() -> None:
    from services.executor.gvisor import runsc

    try:
        asyncio.run(runsc.find())
    except runsc.SandboxUnavailable as unavailable:
        raise Failure(str(unavailable)) from unavailable


def _refuse_with_kafka(context: click.Context, kafka: KafkaSettings | None) -> None:
    for name in ("workers", "latency", "model_cache", "traces"):
        if kafka and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} cannot be used with --kafka: set it on the services")


def _print_table(report: dict[str, Any], out: Storage) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    for name, value in report.items():
        shown = listed(value) if isinstance(value, dict) else str(value)
        table.add_row(name.replace("_", " "), shown or "none")
    table.add_row("dataset", str(out))
    Console().print(table)
