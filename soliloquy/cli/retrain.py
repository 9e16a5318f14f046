"""`soliloquy retrain`: an adapter trained on as conversations come in, and put into service where it is not worse."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click
from rich.console import Console

from soliloquy.cli.adapters import CACHE, MISTAKES, REGISTRY, SERVICE, canaries_of
from soliloquy.cli.evaluate.putting import Putting
from soliloquy.cli.evaluate.tutor import Tutor, at_most
from soliloquy.cli.evaluate.weights import Weights
from soliloquy.cli.kafka_options import kafka_options
from soliloquy.cli.launching import CONFIG, METRICS, Launch, end_when_asked, launch_options
from soliloquy.cli.main import INTERRUPTED
from soliloquy.cli.training_view import ShownTraining, exported
from soliloquy.dataset.storage import Storage
from soliloquy.runs.failure import Failure
from soliloquy.runtime.model.settings import shipped_models
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.port import Unanswered

if TYPE_CHECKING:
    from training.continuous.folder import RoundOutcome
    from training.continuous.policy import EvaluationPolicy

# Cases that are put at once.
_IN_FLIGHT = 16


@click.command()
@CONFIG
@click.option(
    "--base",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    help="The model that is served: its weights and tokenizer.",
)
@click.option("--name", required=True, metavar="NAME", help="What requests call the adapter, whichever version it is.")
@click.option("--data", metavar="DIR|URL", help="A dataset that grows; or name a Kafka.")
@click.option("--every", default=500, show_default=True, type=click.IntRange(min=1), help="Conversations of a round.")
@click.option(
    "--rounds", type=click.IntRange(min=1), help="End when there are so many in the folder.  [default: never]"
)
@click.option(
    "--policy",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="What is evaluated, and how much worse an adapter may be, as TOML.",
)
@click.option(
    "--state",
    default="retraining",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
    help="The folder of all rounds.",
)
@REGISTRY
@SERVICE
@CACHE
@METRICS
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@kafka_options()
@launch_options
def retrain(
    *,
    launch: Launch,
    base: Path,
    name: str,
    kafka: KafkaSettings | None,
    data: str | None,
    every: int,
    rounds: int | None,
    policy: Path | None,
    state: Path,
    registry: str,
    model_address: str,
    cache: Path | None,
    metrics: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train an adapter on whenever enough conversations have come in, and put it into service unless it is worse.

    A round freezes what came since the last one, trains on top of the version in service, puts the same held-out
    questions to both, and activates or keeps what came of it. The same command goes on where it stopped, also after
    `kill -9`; STATE/rounds.md has a line a round.
    """
    if (data is None) == (kafka is None):
        raise click.UsageError("where do conversations come from? Name either --data or --kafka")
    if cache is None and Storage(registry).folder is None:
        raise click.UsageError(f"{registry} is no folder: name one that all replicas read, for copies, with --cache")
    from training.adapters.registry import Registry
    from training.continuous.folder import RetrainingFolder
    from training.continuous.policy import SHIPPED, read_policy
    from training.continuous.retraining import Retraining, Served
    from training.continuous.sources import DatasetSource, Source, TopicSource
    from training.settings import CannotTrain, read_settings

    source: Source = TopicSource(kafka=kafka) if kafka else DatasetSource(data=str(data))
    display = _Lines(every, quiet=quiet or as_json)
    try:
        chosen = read_policy(policy or SHIPPED)
        retraining = Retraining(
            rounds=RetrainingFolder(state),
            source=source,
            every=every,
            served=Served(name=name, base=base, registry=Registry(registry), model_address=model_address, cache=cache),
            settings=read_settings(launch.file),
            policy=chosen,
            canaries=canaries_of(chosen.canaries.count),
            train=ShownTraining(launch=launch, quiet=quiet or as_json).train,
            evaluate=_Evaluating(base=base, evaluation=chosen.evaluation, quiet=quiet or as_json).evaluate,
            display=display,
        )
        end_when_asked()
        with exported(metrics), display:
            done = retraining.run(rounds)
    except (CannotTrain, KafkaUnavailable, Unanswered, *MISTAKES, OSError) as error:
        raise Failure(str(error)) from error
    except KeyboardInterrupt:
        click.echo("soliloquy: stopped; the same command goes on where it was", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    if as_json:
        click.echo(json.dumps({"state": str(state), "rounds": [asdict(outcome) for outcome in done]}))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Evaluating:
    """In this process, as `soliloquy evaluate higgs --weights` does it."""

    base: Path
    evaluation: "EvaluationPolicy"
    quiet: bool

    def evaluate(self, adapter: Path | None, out: Path) -> Mapping[str, Any]:
        from training.evaluation.higgs.page import page
        from training.evaluation.report import write_report

        weights = Weights(folder=self.base, adapter=adapter, free=False)
        weights.check()
        models = at_most(shipped_models(), self.evaluation.max_tokens)
        tutor = Tutor(models=models, cache=None, noise="none", weights=weights, problems=self.evaluation.problems)
        putting = Putting(
            tutor=tutor, questions=self.evaluation.questions, seed=self.evaluation.seed, in_flight=_IN_FLIGHT
        )
        report, results = putting.report(out.name, quiet=self.quiet)
        write_report(out, report, results, page(report, results))
        return report


class _Lines:
    """A line a step; on a terminal also how many conversations have come in by now."""

    def __init__(self, every: int, *, quiet: bool) -> None:
        self._every = every
        self._quiet = quiet
        self._status = Console(stderr=True, quiet=quiet).status("")

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
            click.echo(f"round {number}: {step}", err=True)

    def ended(self, outcome: "RoundOutcome") -> None:
        self.at(outcome.round, ": ".join(filter(None, (outcome.outcome, outcome.version, outcome.reason))))
