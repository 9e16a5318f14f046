"""`soliloquy evaluate higgs`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import click
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from soliloquy.v1.conversation_pb2 import Problem

from services.cli.evaluate.questions import learned, questions
from services.cli.failure import Failure
from services.cli.model_options import model_options
from services.cli.wiring import ModelSettings, scripted_model
from services.curriculum.problems import BadProblemFile, UnknownProblems, problem_source
from services.executor.gvisor.runsc import SandboxUnavailable
from services.executor.handler import run
from services.executor.pool import SandboxPool
from services.executor.settings import SandboxSettings
from services.recipes.recipe import find
from services.runtime.ask import BrokenPrompt
from services.runtime.model.opening import OpenModels, opened
from services.runtime.model.settings import BadModelSettings, Models
from services.runtime.retry import CannotServe
from training.evaluation.cases import RECIPE, Rehearsal
from training.evaluation.figures import figures
from training.evaluation.higgs import Drawn, TooFewQuestions, drawn_cases, evaluated
from training.evaluation.judging import METRICS, Judged
from training.evaluation.report import PAPER, PICTURE, told, write_report
from training.evaluation.tutoring import Tutoring

_TUTOR = ("tutor", "codegen", "composer")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What is to be evaluated, and on what."""

    models: Models
    model_cache: Path | None
    noise: str
    problems: str
    questions: int
    seed: int
    datasets: Sequence[Path]
    in_flight: int


@click.command()
@click.option("--questions", default=25, show_default=True, type=click.IntRange(min=1), help="How many are put.")
@click.option("--problems", default="physics", show_default=True, metavar="BANK|FILE", help="Where they are from.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="All draws follow from it.")
@click.option(
    "--trained",
    "datasets",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A dataset that the model has learned from: no question of it is put; may be given several times.",
)
@click.option("--adapter", metavar="NAME", help="Of the tutor's weights, as the endpoint calls it.")
@click.option("--name", metavar="NAME", help="Of the report; else the model's and the adapter's.")
@click.option("--in-flight", default=16, show_default=True, type=click.IntRange(min=1), help="Cases at once.")
@click.option(
    "--noise", default="none", show_default=True, type=click.Choice(["none", "real"]), help="Imitate real output."
)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="The report's folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object and nothing else.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@model_options
def higgs(
    *, models: Models, adapter: str | None, name: str | None, out: Path, as_json: bool, quiet: bool, **wanted: Any
) -> None:
    """Put questions that no training has seen, each once with a right and once with a wrong number from the student.

    The Code Soliloquies paper's four metrics, judged by the truth check and the sandbox: whether Python is used where
    there is a number to verify, and only there; whether the code runs; whether right is told from wrong by it. The
    student is the scripted one, the tutor's model the one that is named; the same seed puts the same cases to each.
    """
    chosen = Wanted(models=_with_adapter(models, adapter), **wanted)
    try:
        source = problem_source(chosen.problems)
        prompts = find(RECIPE).fingerprints()
    except (BadProblemFile, UnknownProblems, BrokenPrompt) as unusable:
        raise Failure(str(unusable)) from unusable
    held_out = questions(source, seed=chosen.seed, learned=learned(chosen.datasets))
    drawn, results = _evaluate(chosen, held_out, quiet=quiet or as_json)
    described = chosen.models.identity() | ({"noise": chosen.noise} if chosen.noise != "none" else {})
    report = {
        "protocol": "higgs",
        "name": name or _name(described["model"], chosen.noise, adapter),
        "model": described,
        "adapters": sorted(set[str]().union(*(result.adapters for result in results))),
        "cases": {
            "problems": chosen.problems,
            "problems_sha256": source.digest,
            "questions": chosen.questions,
            "seed": chosen.seed,
            "sha256": drawn.digest,
            "passed_over": drawn.passed_over,
        },
        "prompts_sha256": prompts,
        "figures": figures(results),
        "paper": PAPER,
    }
    try:
        write_report(out, report, results)
        _draw(out, report, quiet=quiet or as_json)
    except OSError as error:
        raise Failure(f"{out} cannot be written ({error.strerror}): choose another --out") from error
    if as_json:
        click.echo(json.dumps(report))
    elif not quiet:
        _print(report, out)


def _evaluate(wanted: Wanted, held_out: Iterator[Problem], *, quiet: bool) -> tuple[Drawn, list[Judged]]:
    try:
        return uvloop.run(_evaluated(wanted, held_out, quiet=quiet))
    except (SandboxUnavailable, TooFewQuestions, BadModelSettings, ExceptionGroup) as error:
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, SandboxUnavailable | TooFewQuestions | BadModelSettings | CannotServe):
            raise Failure(str(cause)) from error
        raise


async def _evaluated(wanted: Wanted, held_out: Iterator[Problem], *, quiet: bool) -> tuple[Drawn, list[Judged]]:
    recipe, pool = find(RECIPE), SandboxPool(SandboxSettings())
    execute = partial(run, sandbox=pool)
    # The students and what was said before the case is put do not depend on the model.
    scripted = scripted_model(ModelSettings(problems=[wanted.problems]))
    noisy = ModelSettings(problems=[wanted.problems], noise=wanted.noise)
    async with opened(wanted.models, lambda: scripted_model(noisy), wanted.model_cache) as models:
        await pool.start()
        try:
            rehearsal = Rehearsal(tutoring=Tutoring(recipe=recipe, model=scripted, execute=execute), seed=wanted.seed)
            drawn = await drawn_cases(held_out, rehearsal, questions=wanted.questions)
            tutoring = Tutoring(recipe=recipe, model=models, execute=execute)
            with _Bar(models, of=len(drawn.cases), quiet=quiet) as bar:
                results = await evaluated(drawn.cases, tutoring, at_once=wanted.in_flight, tell=bar.tell)
            return drawn, results
        finally:
            await pool.stop()


class _Bar:
    """Cases done of all, those missed so far, and why nothing goes on where it does not."""

    def __init__(self, models: OpenModels, *, of: int, quiet: bool) -> None:
        self._models = models
        self._missed = 0
        columns = (TextColumn("cases"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[standing]}"))
        self._progress = Progress(
            *columns, TimeRemainingColumn(compact=True), console=Console(stderr=True), disable=quiet
        )
        self._task = self._progress.add_task("cases", total=of, standing="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def tell(self, result: Judged) -> None:
        self._missed += not all(result.passed.values())
        self._progress.update(self._task, advance=1, standing=self._models.fault or f"missed {self._missed}")


def _with_adapter(models: Models, adapter: str | None) -> Models:
    if adapter is None:
        return models
    if any(models.endpoint_of(role).engine == "scripted" for role in _TUTOR):
        raise click.UsageError(f"--adapter {adapter}: the scripted model has no weights: name another --model")
    roles = {name: replace(role, adapter=adapter) if name in _TUTOR else role for name, role in models.roles.items()}
    return replace(models, roles=roles)


def _name(model: str, noise: str, adapter: str | None) -> str:
    return model + (f" + {adapter}" if adapter else "") + (f", noise {noise}" if noise != "none" else "")


def _draw(out: Path, report: dict[str, Any], *, quiet: bool) -> None:
    if find_spec("matplotlib") is None:
        if not quiet:
            click.echo(f"no {PICTURE}: matplotlib is missing: pip install 'soliloquy[train]'", err=True)
        return
    from training.evaluation.picture import draw

    draw(out / PICTURE, {report["name"]: report})


def _print(report: dict[str, Any], out: Path) -> None:
    made = report["figures"]
    table = Table("metric", "share of cases, with its 95 % interval", "the paper's Higgs", title=report["name"])
    for metric, title in METRICS.items():
        table.add_row(title, told(made["metrics"][metric]), f"{PAPER[metric]:.2f}")
    rearranging = made["rearranging"]
    table.add_section()
    table.add_row("questions that need a rearrangement", told(rearranging["questions"]), "")
    table.add_row("calculation verification of those", told(rearranging["metrics"]["verification"]), "")
    table.add_row("answers read at the first try", told(made["read_at_first"]), "")
    Console().print(table)
    click.echo(f"evidence in {out}")
