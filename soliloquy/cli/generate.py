"""`soliloquy generate`: generates a dataset, on this machine or with the services of a Kafka."""

import asyncio
import json
import logging
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Command, gathered, setting
from soliloquy.cli.main import INTERRUPTED
from soliloquy.cli.mistakes import lack_of_mistakes
from soliloquy.cli.model_options import MODELS, RECORD
from soliloquy.cli.observing import METRICS, observing, serving_metrics
from soliloquy.cli.options import (
    AS_JSON,
    ATTEMPTS,
    COUNT,
    DOLLARS,
    IN_FLIGHT,
    NEW_FOLDER,
    PLACE,
    QUIET,
    SEED,
    TURNS,
    WAIT,
    WORKERS,
    Choice,
    whole,
)
from soliloquy.cli.progress import display
from soliloquy.cli.run_file import RUN_FILE, is_given, kept_options
from soliloquy.cli.runs_view import asked_again_in, most_asked_again, next_commands, summary, tell_pilot
from soliloquy.cli.service_options import CLASSIFIERS, KAFKA, LANGUAGE, LATENCY, NOISE, PROMPTS, chosen_prompts
from soliloquy.cli.tables import facts
from soliloquy.cli.terminal import echo, open_console
from soliloquy.dataset.storage import Storage
from soliloquy.recipes.packages import DEFAULT, known_recipes
from soliloquy.recipes.recipe import find
from soliloquy.runs.dry_run import PILOT, calls_of_first, forecast_like
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.generation import GenerationResult, generate_dataset
from soliloquy.runs.plan import Plan, problems_of, require_playable
from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import in_batches
from soliloquy.runtime.model.spending import Budget
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy.runtime.transports.kafka import KafkaSettings

INCOMPLETE = 1
# So many conversations at once fill a batch; more would take more memory than they save time.
BATCH_IN_FLIGHT = 5_000
# The conversations of a pilot that are under way at once.
PILOT_IN_FLIGHT = 5

_MOST_AT_ONCE = "Conversations at once; up to 5,000 by default with batches."
_VERIFIED = "Reject conversations with a verdict that rests on nothing."
_WORKERS = "Worker processes, for models that a single one does not keep busy."
_ATTEMPTS = "Tries at a problem until a conversation is accepted."


def _run(
    conversations: int = setting("Accepted conversations wanted.", type=COUNT),
    seed: int = SEED,
    workers: int = setting(_WORKERS, default=1, type=whole(1, WORKERS)),
    in_flight: int = setting(_MOST_AT_ONCE, default=64, type=whole(1, IN_FLIGHT)),
    latency: float = LATENCY,
    noise: str = NOISE,
    max_turns: int = setting("Turns in a conversation.", default=20, type=whole(2, TURNS)),
    max_attempts: int = setting(_ATTEMPTS, default=10, type=whole(1, ATTEMPTS)),
    enrich: bool = setting("Explain and outline each solution for the tutor first."),
    verified: bool = setting(_VERIFIED),
    classifiers: Path | None = CLASSIFIERS,
    models: Models = MODELS,
    record: Path | None = RECORD,
    wait: bool = WAIT,
) -> dict[str, Any]:
    return locals()


@click.command(cls=Command)
@RUN_FILE
@click.pass_context
def generate(
    context: click.Context,
    /,
    *,
    settings: dict[str, Any] = gathered(_run),
    problems: str = setting("A bank's name (physics) or a JSONL file.", metavar="BANK|FILE"),
    recipe: str = setting(
        "The paper whose conversations it generates.", default=DEFAULT, type=Choice(list(known_recipes()))
    ),
    out: Storage = setting("Folder of the dataset, local or in a store.", metavar="DIR|URL", type=PLACE),
    work: Path | None = setting(
        "A local folder for the unfinished run, which a dataset in a store requires.  [default: .run in --out]",
        type=NEW_FOLDER,
    ),
    prompts: Path | None = PROMPTS,
    language: str | None = LANGUAGE,
    batch: bool = setting(
        "Ask the endpoint of --model openai in batches, for half the price: an answer may take a day."
    ),
    budget: float | None = setting("Dollars that the run may spend, e.g. 50USD.", metavar="SUM", type=DOLLARS),
    budget_tokens: int | None = setting("Tokens that it may read and write.", type=COUNT, metavar="TOKENS"),
    dry_run: bool = setting(f"Generate {PILOT} conversations of the run, and say what all would take."),
    like: str | None = setting("For --dry-run: a dataset that tells it, in place of that.", metavar="DIR|URL"),
    metrics: str | None = METRICS,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    kafka: KafkaSettings | None = KAFKA,
    traces: TraceSettings = observing("generate", least=logging.WARNING),
) -> None:
    """Generate a dataset of tutoring conversations.

    RUN_FILE holds options in TOML: `max_turns = 8` is --max-turns 8, and the table `models` has what --model-settings
    reads. The command line overrides it. The manifest.json of a dataset is such a file, too.

    It runs on this machine, or with --kafka by the services that `soliloquy up` or a cluster keeps running. Those
    choose their own models: --noise, --model and the options of --model then only describe them.

    The same command resumes an interrupted run. The same seed gives the same files, byte for byte, whatever the number
    of workers and of conversations in flight, and wherever they run.

    A budget slows the run down towards its end and stops it there, with what is finished kept; the same command with
    a higher budget goes on.

    A dry run says what calls, tokens, money and time the run would take, and shows its first prompts. Its own
    conversations are the beginning of the run: the same command without --dry-run goes on from them.
    """
    check_installed("run", "pyarrow")
    _refuse_with_kafka(context, kafka)
    if batch:
        settings["models"] = _in_batches(context, settings["models"])
    if settings["models"].has_batches and not kafka and not is_given(context, "in_flight"):
        settings["in_flight"] = min(settings["conversations"], BATCH_IN_FLIGHT)
    if like and not dry_run:
        raise click.UsageError("--like requires --dry-run")
    if settings["classifiers"] and not find(recipe).topics:
        raise click.UsageError(f"--classifiers requires a recipe that writes problems: {recipe} does not")
    if kafka is None:
        _check_sandbox()
    spoken = language or ""
    changed = chosen_prompts(recipe, prompts, spoken)
    source = problems_of(problems, recipe, changed, lambda line: None if quiet else echo(line, err=True), spoken)
    limit = Budget(dollars=budget, tokens=budget_tokens)
    plan = Plan.of(
        recipe,
        source,
        prompts=changed,
        language=spoken,
        problems=problems,
        budget=limit,
        options=kept_options(context),
        **settings,
    )
    if kafka is None:
        require_playable(plan.models, source, recipe, spoken)
    if budget is not None and (unpriced := [name for name, price in plan.prices().items() if price is None]):
        raise click.UsageError(
            f"--budget requires prices, and none is known of {', '.join(unpriced)}: set prompt_price and "
            "completion_price in --model-settings, or use --budget-tokens"
        )
    if like:
        tell_pilot(forecast_like(like, plan, source, together=plan.in_flight), limit, as_json=as_json)
        return
    whole = plan
    if dry_run:
        if plan.conversations <= PILOT:
            raise click.UsageError(f"--dry-run generates {PILOT} conversations: it has nothing to say of so few")
        plan = replace(plan, conversations=PILOT, in_flight=min(plan.in_flight, PILOT_IN_FLIGHT))
    started = time.monotonic()
    tell = partial(echo, err=True) if not (quiet or as_json) else lambda _: None
    show = display(plan.conversations, quiet=quiet or as_json)
    with serving_metrics(metrics):
        result = generate_dataset(plan, source, RunFolder(out, plan, work), kafka, traces, show, tell)
    report = result.report(seconds=time.monotonic() - started)
    if dry_run and not result.shortfall:
        rehearsal = calls_of_first(whole, source)
        forecast = forecast_like(str(out), whole, source, together=plan.in_flight, rehearsal=rehearsal)
        tell_pilot(forecast, limit, as_json=as_json)
    elif as_json:
        echo(json.dumps(report))
    elif not quiet and report["accepted"] + report["rejected"]:
        open_console().print(facts(summary(report, out)))
        if not result.shortfall:
            # The dataset loads Arrow.
            from soliloquy.dataset.reading import Dataset

            made, most = Dataset(str(out)), next(iter(most_asked_again(report)), "")
            again = asked_again_in(made, most) if most else ""
            if lack := lack_of_mistakes(made, recipe):
                echo(lack)
            echo(next_commands(out, rejected=report["rejected"], again=again))
    if result.shortfall:
        echo(f"soliloquy: {result.shortfall}", err=True)
    context.exit(exit_status(result))


def exit_status(result: GenerationResult) -> int:
    return INTERRUPTED if result.interrupted else INCOMPLETE if result.shortfall else 0


def _in_batches(context: click.Context, models: Models) -> Models:
    if context.params["model"] != "openai":
        raise click.UsageError("--batch requires --model openai: in --model-settings, set batch = true of an endpoint")
    return in_batches(models)


def _check_sandbox() -> None:
    from soliloquy_services.executor.gvisor import runsc

    asyncio.run(runsc.find())


def _refuse_with_kafka(context: click.Context, kafka: KafkaSettings | None) -> None:
    if not kafka:
        return
    if context.params["batch"]:
        raise click.UsageError("--batch cannot be used with --kafka: only a run of this machine asks in batches")
    for name in ("workers", "latency", "record", "traces", "wait"):
        if is_given(context, name):
            raise click.UsageError(f"--{name.replace('_', '-')} cannot be used with --kafka: set it on the services")
