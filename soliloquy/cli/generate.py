"""`soliloquy generate`: grows a dataset, on this machine or with the services of a Kafka."""

import asyncio
import json
import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import uvloop
from click.core import ParameterSource
from rich.console import Console
from rich.table import Table

from services.collector.journal import Journal
from services.executor.gvisor import runsc
from services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy.cli.durations import DURATION
from soliloquy.cli.kafka_options import kafka_options
from soliloquy.cli.main import INTERRUPTED
from soliloquy.cli.model_options import model_options
from soliloquy.cli.observing import observing
from soliloquy.cli.places import PLACE
from soliloquy.cli.progress import Bar, Quiet
from soliloquy.cli.service_options import CLASSIFIERS
from soliloquy.dataset.frames import DamagedFrames
from soliloquy.dataset.storage import Storage, StorageUnavailable
from soliloquy.problems.commission_source import Commissions
from soliloquy.problems.sources import BadProblemFile, ProblemSource, UnknownProblems, problem_source
from soliloquy.recipes.recipe import DEFAULT, find, known_recipes
from soliloquy.runs.backends import KafkaBackend, LocalBackend
from soliloquy.runs.driver import Driver
from soliloquy.runs.failure import Failure
from soliloquy.runs.folder import RunFolder
from soliloquy.runs.plan import Plan
from soliloquy.runtime.ask import BrokenPrompt
from soliloquy.runtime.events import EventTooLarge
from soliloquy.runtime.quota import most_problems
from soliloquy.runtime.retry import CannotServe
from soliloquy.runtime.traces.opening import CannotTrace, recorded
from soliloquy.runtime.traces.settings import TraceSettings
from soliloquy.runtime.transports.embedded import LogUnavailable
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.port import Unanswered

INCOMPLETE = 1
_WORK = "For what is not in the dataset yet.  [default: .run in the dataset's folder]"
_REPORTED = ("enrichment", "unfit", "turns", "python_turns", "executions", "parse", "verdicts")


@click.command()
@click.option("--problems", required=True, metavar="BANK|FILE", help="A bank's name (physics) or a JSONL file.")
@click.option(
    "--recipe", default=DEFAULT, show_default=True, type=click.Choice(list(known_recipes())), help="How they are grown."
)
@click.option("--conversations", required=True, type=click.IntRange(min=1), help="Accepted conversations wanted.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="All draws follow from it.")
@click.option("--out", required=True, metavar="DIR|URL", type=PLACE, help="The dataset's folder, here or in a store.")
@click.option("--work", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), help=_WORK)
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Worker processes.")
@click.option("--in-flight", default=64, show_default=True, type=click.IntRange(min=1), help="Conversations at once.")
@click.option("--latency", default="0ms", show_default=True, type=DURATION, help="Of each answer.")
@click.option(
    "--noise", default="none", show_default=True, type=click.Choice(["none", "real"]), help="Imitate real output."
)
@click.option("--max-turns", default=20, show_default=True, type=click.IntRange(min=2), help="Turns of a conversation.")
@click.option("--max-attempts", default=10, show_default=True, type=click.IntRange(min=1), help="Tries at a problem.")
@click.option("--enrich", is_flag=True, help="Have each solution explained and outlined for the tutor first.")
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
    enrich: bool,
    out: Storage,
    work: Path | None,
    as_json: bool,
    quiet: bool,
    traces: TraceSettings,
    **settings: Any,
) -> None:
    """Grow a dataset of tutoring conversations.

    On this machine, or with --kafka by the services that `soliloquy up` or a cluster keeps running; what their models
    are, how slow and how noisy, is theirs: --noise, --model and what goes with it then only say what they are.

    The same command resumes what was interrupted. The same seed gives the same files, byte for byte, whatever the
    number of workers and conversations in flight, and wherever they grow.
    """
    _refuse_with_kafka(context, kafka)
    if settings["classifiers"] and not find(recipe).topics:
        raise click.UsageError(
            f"--classifiers says nothing with --recipe {recipe}: they judge problems that are written"
        )
    try:
        if kafka is None:
            asyncio.run(runsc.find())
        chosen = find(recipe)
        given = problem_source(problems)
        source = Commissions(examples=given, topics=chosen.topics) if chosen.topics else given
        prompts = chosen.fingerprints()
    except (SandboxUnavailable, BadProblemFile, UnknownProblems, BrokenPrompt) as unusable:
        raise Failure(str(unusable)) from unusable
    plan = Plan(
        recipe=recipe,
        problems=problems,
        problems_sha256=source.digest,
        prompts_sha256=prompts,
        enrich=enrich or chosen.always_enriched,
        **settings,
    )
    started = time.monotonic()
    growth = grow(plan, source, RunFolder(out, plan, work), kafka, traces, quiet=quiet or as_json)
    report = growth.report(plan, seconds=time.monotonic() - started)
    if as_json:
        click.echo(json.dumps(report))
    elif not quiet:
        _print_table(report, out)
    if growth.shortfall:
        click.echo(f"soliloquy: {growth.shortfall}", err=True)
    context.exit(growth.exit_code)


@dataclass(frozen=True, kw_only=True, slots=True)
class Growth:
    """What a call of the command came to."""

    requested: int
    counts: dict[str, Any]
    # Problems for which no conversation can be had as things are.
    failed: int
    # Why the run has fewer conversations than asked for; empty where it has them all.
    shortfall: str = ""
    exit_code: int = 0

    def report(self, plan: Plan, *, seconds: float) -> dict[str, Any]:
        tokens = self.counts["tokens"]
        return {
            "requested": self.requested,
            "accepted": self.counts["accepted"],
            "rejected": self.counts["rejected"],
            "failed": self.failed,
            **{name: self.counts[name] for name in _REPORTED},
            "tokens": {kind: sum(used[kind] for used in tokens.values()) for kind in ("prompt", "completion")},
            "cost": round(sum(plan.cost(tokens).values()), 6),
            "seconds": round(seconds, 2),
        }


def grow(
    plan: Plan,
    source: ProblemSource,
    run_folder: RunFolder,
    kafka: KafkaSettings | None,
    traces: TraceSettings,
    *,
    quiet: bool,
) -> Growth:
    """Grows what is missing, and writes the dataset once nothing is."""
    console = Console(stderr=True)
    with run_folder as folder:
        if folder.manifest is not None:
            return _finished(plan, folder.manifest["counts"])
        try:
            with Journal(folder.journal) as journal:
                begun = journal.accepted
                if begun and not quiet:
                    console.print(f"resuming: {begun} of {plan.conversations} conversations are there")
                display = Quiet() if quiet else Bar(console, wanted=plan.conversations, resumed_from=begun)
                backend = KafkaBackend(kafka, folder) if kafka else LocalBackend(plan, folder.log, traces)
                driver = Driver(plan, source, journal, backend)
                with recorded(traces), display:
                    uvloop.run(driver.grow(display))
                # Arrow is loaded when there is something to write.
                from services.collector.dataset import counts_so_far, write_dataset

                if driver.settled:
                    counts = write_dataset(
                        folder.place,
                        folder.working,
                        journal,
                        run=plan.identity(),
                        cost=plan.cost,
                        topics=backend.topics,
                    )
                else:
                    counts = counts_so_far(journal, plan.conversations)
        except (ExceptionGroup, LogUnavailable, KafkaUnavailable, CannotTrace, Unanswered, OSError) as error:
            raise _failure(error, folder.place) from error
        if driver.settled:
            if not driver.dead_letters:
                folder.remove_working_files()
            return _finished(plan, counts)
    if driver.interrupted.is_set():
        return _stopped(plan, counts, given_up=driver.given_up, dropped=driver.dropped)
    letters = f"--kafka {kafka.bootstrap}" if kafka else str(folder.working.parent)
    return _waiting_for_replay(plan, counts, letters=letters)


def _refuse_with_kafka(context: click.Context, kafka: KafkaSettings | None) -> None:
    for name in ("workers", "latency", "model_cache", "traces"):
        if kafka and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--{name.replace('_', '-')} says nothing with --kafka: it is for who starts the services"
            )


def _failure(error: BaseException, out: Storage) -> BaseException:
    """What stopped a run, as one line where it is something that a person can mend."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case LogUnavailable() | KafkaUnavailable() | CannotTrace() | EventTooLarge() | Unanswered() | CannotServe():
            return Failure(str(error))
        case DamagedFrames():
            return Failure(f"{error}: remove it to start the run anew")
        case StorageUnavailable():
            return Failure(f"{error}; the same command goes on from here")
        case OSError():
            return Failure(f"{out} cannot be written ({error}): make room and run the command again")
        case _:
            return error


def _finished(plan: Plan, counts: dict[str, Any]) -> Growth:
    # A dataset of an earlier version does not say it.
    counts = {"unfit": {}, **counts}
    given_up = plan.conversations - counts["accepted"]
    if not given_up:
        return Growth(requested=plan.conversations, counts=counts, failed=0)
    unfit = sum(counts["unfit"].values())
    tried = most_problems(plan.conversations, unfit)
    why = [f"{unfit} are no use to {plan.recipe} ({_listed(counts['unfit'])})"] if unfit else []
    if tried > counts["accepted"] + unfit:
        why.append(f"all {plan.max_attempts} conversations of each of the others were rejected")
    return Growth(
        requested=plan.conversations,
        counts=counts,
        failed=given_up,
        shortfall=f"{counts['accepted']} of {plan.conversations} after {tried} problems: {' and '.join(why)}; "
        "rejected/ says why. A higher --max-attempts tries the others more often",
        exit_code=INCOMPLETE,
    )


def _stopped(plan: Plan, counts: dict[str, Any], *, given_up: int, dropped: int | None) -> Growth:
    left = f", {dropped} under way were dropped" if dropped is not None else ""
    return Growth(
        requested=plan.conversations,
        counts=counts,
        failed=given_up,
        shortfall=f"stopped at {counts['accepted']} of {plan.conversations}{left}; the same command goes on from here",
        exit_code=INTERRUPTED,
    )


def _waiting_for_replay(plan: Plan, counts: dict[str, Any], *, letters: str) -> Growth:
    missing = plan.conversations - counts["accepted"]
    return Growth(
        requested=plan.conversations,
        counts=counts,
        failed=missing,
        shortfall=f"{missing} conversations ended among the dead letters; soliloquy dlq list {letters} says why, "
        f"soliloquy dlq replay {letters} puts them back, and the same command goes on from there",
        exit_code=INCOMPLETE,
    )


def _print_table(report: dict[str, Any], out: Storage) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    for name, value in report.items():
        shown = _listed(value) if isinstance(value, dict) else str(value)
        table.add_row(name.replace("_", " "), shown or "none")
    table.add_row("dataset", str(out))
    Console().print(table)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {key}" for key, count in counts.items())
