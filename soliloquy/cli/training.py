"""`soliloquy freeze`, `train` and `retrain`: from a dataset to an adapter, once or as conversations come in."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from soliloquy.cli.adapters import CACHE, REGISTRY, SERVICE, reporting_file_errors
from soliloquy.cli.command import Command, setting
from soliloquy.cli.evaluate.settings import RECIPE, EvaluationSettings, RetrainingEvaluation, retraining_evaluation
from soliloquy.cli.evaluate.tutor import Tutor, at_most
from soliloquy.cli.launching import LAUNCH, Launch, train_observed
from soliloquy.cli.main import INTERRUPTED
from soliloquy.cli.observing import METRICS, serving_metrics
from soliloquy.cli.options import (
    AS_JSON,
    COUNT,
    EXISTING_FILE,
    NEW_FOLDER,
    NEW_RESOLVED_FOLDER,
    QUIET,
    RESOLVED_FOLDER,
    Choice,
)
from soliloquy.cli.service_options import KAFKA, client_tls
from soliloquy.cli.tables import facts
from soliloquy.cli.terminal import answer, echo, end_when_asked, open_console
from soliloquy.dataset.storage import Storage
from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.opening import open_transport

if TYPE_CHECKING:
    from soliloquy_training.continuous.folder import EvaluationPolicy


@click.command(cls=Command)
def freeze(
    *,
    data: str | None = setting("The dataset to freeze; alternatively use --kafka.", metavar="DIR|URL"),
    out: Path = setting("The folder to create.", type=NEW_FOLDER),
    offsets: Path | None = setting(
        "Stop at the offsets in the manifest.json of an earlier freeze; the result is the same.", type=EXISTING_FILE
    ),
    once: bool = setting("Do nothing if an earlier freeze has finished in the folder, as when a job starts again."),
    as_json: bool = AS_JSON,
    kafka: KafkaSettings | None = KAFKA,
) -> None:
    """Copy the accepted conversations of a dataset, or of the Kafka topic conversation.finished, into a new folder.

    The result is a dataset that does not grow, so that a training can be repeated. Its manifest records the offsets or
    digests of the input.
    """
    if (data is None) == (kafka is None):
        raise click.UsageError("freeze requires either --data or --kafka")
    if offsets and kafka is None:
        raise click.UsageError("--offsets requires --kafka")
    from soliloquy_training.freeze import finished_freeze, freeze_dataset

    if once and (finished := finished_freeze(out)):
        manifest = finished
    elif kafka is not None:
        manifest = asyncio.run(_of_topic(kafka, offsets, out))
    elif data is not None:
        manifest = freeze_dataset(data, out)
    answer(manifest, [f"{manifest['counts']['accepted']} conversations in {out}"], as_json=as_json)


async def _of_topic(kafka: KafkaSettings, offsets: Path | None, out: Path) -> dict[str, Any]:
    from soliloquy_training.freeze import FINISHED, freeze_topic, recorded_offsets

    async with open_transport(kafka) as transport:
        begins, ends = recorded_offsets(offsets) if offsets else ({}, await transport.ends(FINISHED))
        return await freeze_topic(transport, ends, out, begins=begins)


@click.command(cls=Command)
def train(
    *,
    base: Path = setting("The model's weights and tokenizer.", type=RESOLVED_FOLDER, metavar="DIR"),
    data: str | None = setting(
        "A dataset, or the folder of `soliloquy freeze`; for dpo and kto also one of exported preferences; for grpo "
        "none.",
        metavar="DIR|URL",
    ),
    method: str | None = setting(
        "How to learn: sft from what tutors said, dpo or kto from answers that rules sent back, grpo from rewards "
        "of episodes that it plays.  [default: that of --config, sft]",
        type=Choice(["sft", "dpo", "kto", "grpo"]),
    ),
    name: str = setting("The name of the training; its folder is OUT/NAME."),
    out: Path = setting("The folder of all trainings.", default="trained", type=NEW_FOLDER),
    adapter: Path | None = setting("The adapter to start from.", "--from", type=RESOLVED_FOLDER, metavar="DIR"),
    track: str | None = setting(
        "Also tell this tracker the steps; MLFLOW_* or WANDB_* variables say where.", type=Choice(["mlflow", "wandb"])
    ),
    metrics: str | None = METRICS,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    launch: Launch = LAUNCH,
) -> None:
    """Tune a model on the conversations of a dataset.

    The model learns the tutor's own words: decisions, programs and replies, each after the prompt that the recipe uses
    when the model is served. With --method dpo or kto it learns to prefer those that stand to those that rules sent
    back; with --method grpo it plays the tutor in episodes, and learns from their rewards. Run the same command again
    to resume, even after `kill -9`; the result is the same.
    """
    if not name or "/" in name or name.startswith("."):
        raise click.UsageError(f"invalid --name {name!r}: use letters, digits and dashes")
    if track:
        check_installed(track, track)
    from soliloquy_training.folder import Job
    from soliloquy_training.settings import read_settings

    try:
        settings = read_settings(launch.file, method)
        if settings.method != "sft":
            check_installed("trl", "trl")
        if (data is None) != (settings.method == "grpo"):
            raise click.UsageError(
                "grpo takes no --data: rollouts.problems in --config names its problems"
                if data
                else f"--method {settings.method} requires --data"
            )
        job = Job(settings=settings, base=base, data=data or "", folder=out.resolve() / name, adapter=adapter)
        with serving_metrics(metrics):
            train_observed(launch, job, quiet=quiet or as_json, tracker=track)
    except KeyboardInterrupt:
        echo("soliloquy: stopped: run the same command to resume from the newest checkpoint", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    report = json.loads((job.folder / "report.json").read_bytes())
    report["folder"] = str(job.folder)
    shown = {name: value for name, value in report.items() if name != "samples"}
    answer(report, [facts(shown)], as_json=as_json, quiet=quiet)


# Cases to evaluate at once.
_IN_FLIGHT = 16


@click.command(cls=Command)
def retrain(
    *,
    base: Path = setting("The served model's weights and tokenizer.", type=RESOLVED_FOLDER),
    name: str = setting("The adapter's name in requests.", metavar="NAME"),
    recipe: str = RECIPE,
    data: str | None = setting("A growing dataset; alternatively use --kafka.", metavar="DIR|URL"),
    every: int = setting("Conversations in a round.", "--every", default=500, type=COUNT),
    rounds: int | None = setting("End after this many rounds in total.  [default: never]", type=COUNT),
    policy: Path | None = setting("TOML: what is evaluated, and how much worse an adapter may be.", type=EXISTING_FILE),
    state: Path = setting("The folder for all rounds.", default="retraining", type=NEW_RESOLVED_FOLDER),
    registry: str = REGISTRY,
    model_address: str = SERVICE,
    cache: Path | None = CACHE,
    metrics: str | None = METRICS,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    launch: Launch = LAUNCH,
    kafka: KafkaSettings | None = KAFKA,
) -> None:
    """Keep training an adapter on new conversations, and activate each version unless it is worse.

    A round starts when enough conversations have come in. It freezes them, trains on top of the active version,
    evaluates both versions on the same held-out questions, and activates or rejects the result. STATE/rounds.md has a
    line for each round. Run the same command again to resume, even after `kill -9`.
    """
    if (data is None) == (kafka is None):
        raise click.UsageError("retrain requires either --data or --kafka")
    if cache is None and Storage(registry).folder is None:
        raise click.UsageError(f"--registry {registry} requires --cache, a folder that all replicas can read")
    from soliloquy_training.adapters.registry import Registry
    from soliloquy_training.continuous.folder import SHIPPED, RetrainingFolder, read_policy
    from soliloquy_training.continuous.retraining import Retraining, Served
    from soliloquy_training.continuous.sources import DatasetSource, Source, TopicSource
    from soliloquy_training.settings import read_settings

    evaluation = retraining_evaluation(recipe)
    source: Source = TopicSource(kafka=kafka) if kafka else DatasetSource(data=str(data))
    display = _RoundDisplay(every, quiet=quiet or as_json)
    try:
        with reporting_file_errors():
            chosen = read_policy(
                policy or SHIPPED,
                metrics=evaluation.metrics,
                problems=evaluation.problems,
                may_lose=evaluation.may_lose,
            )
            retraining = Retraining(
                rounds=RetrainingFolder(state),
                source=source,
                every=every,
                served=Served(
                    name=name,
                    base=base,
                    registry=Registry(registry),
                    model_address=model_address,
                    model_tls=client_tls(),
                    cache=cache,
                ),
                settings=read_settings(launch.file),
                policy=chosen,
                metrics=evaluation.metrics,
                canaries=evaluation.canary_prompts(chosen.canaries.count),
                train=partial(train_observed, launch, quiet=quiet or as_json),
                evaluate=partial(_evaluate, evaluation, chosen.evaluation, base, quiet=quiet or as_json),
                display=display,
            )
            end_when_asked()
            with serving_metrics(metrics), display:
                done = retraining.run(rounds)
    except KeyboardInterrupt:
        echo("soliloquy: stopped: run the same command to resume", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    answer({"state": str(state), "rounds": [asdict(outcome) for outcome in done]}, (), as_json=as_json)


def _evaluate(
    evaluation: RetrainingEvaluation,
    policy: "EvaluationPolicy",
    base: Path,
    adapter: Path | None,
    out: Path,
    *,
    quiet: bool,
) -> Mapping[str, Any]:
    """Evaluates a version in this process, as `soliloquy evaluate --weights` does."""
    models = at_most(shipped_models(), policy.max_tokens)
    tutor = Tutor(models=models, weights=base, adapter=adapter, problems=policy.problems)
    tutor.check_weights()
    settings = EvaluationSettings(tutor=tutor, seed=policy.seed, in_flight=_IN_FLIGHT, name=out.name, quiet=quiet)
    evaluated = evaluation.evaluate(settings, policy.questions)
    evaluated.write(out)
    return evaluated.report


class _RoundDisplay:
    """Prints a line for each step; in a terminal also counts the new conversations."""

    def __init__(self, every: int, *, quiet: bool) -> None:
        self._every = every
        self._quiet = quiet
        self._status = open_console(stderr=True, quiet=quiet).status("")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def waiting(self, number: int, found: int) -> None:
        self._status.update(f"round {number}: {found} of {self._every} conversations")
        self._status.start()

    def at(self, number: int, step: str) -> None:
        self._status.stop()
        if not self._quiet:
            echo(f"round {number}: {step}", err=True)
