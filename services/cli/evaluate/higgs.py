"""`soliloquy evaluate higgs`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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

from services.cli.evaluate.questions import learned
from services.cli.evaluate.questions import questions as questions_of
from services.cli.evaluate.tutor import Answering, Tutor, chosen_tutor
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
from services.runtime.model.settings import BadModelSettings
from services.runtime.retry import CannotServe
from training.evaluation.cases import RECIPE, Rehearsal
from training.evaluation.figures import figures
from training.evaluation.higgs import Drawn, TooFewQuestions, drawn_cases, evaluated
from training.evaluation.judging import METRICS, Judged
from training.evaluation.report import PAPER, PICTURE, told, write_report
from training.evaluation.tutoring import Tutoring


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
@click.option(
    "--weights",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    help="Run these in this process, instead of asking a --model.",
)
@click.option("--adapter", metavar="NAME|DIR", help="Of the tutor: as the endpoint calls it, or on top of --weights.")
@click.option("--free", is_flag=True, help="Do not hold the answers of --weights to their schema.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Of an answer, where the settings allow more.")
@click.option("--name", metavar="NAME", help="Of the report; else the model's and the adapter's.")
@click.option("--in-flight", default=16, show_default=True, type=click.IntRange(min=1), help="Cases at once.")
@click.option(
    "--noise", default="none", show_default=True, type=click.Choice(["none", "real"]), help="Imitate real output."
)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="The report's folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object and nothing else.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@model_options
@click.pass_context
def higgs(
    context: click.Context,
    /,
    *,
    questions: int,
    problems: str,
    seed: int,
    datasets: Sequence[Path],
    name: str | None,
    in_flight: int,
    model_cache: Path | None,
    out: Path,
    as_json: bool,
    quiet: bool,
    **tutor: Any,
) -> None:
    """Put questions that no training has seen, each once with a right and once with a wrong number from the student.

    The Code Soliloquies paper's four metrics, judged by the truth check and the sandbox: whether Python is used where
    there is a number to verify, and only there; whether the code runs; whether right is told from wrong by it. The
    student is the scripted one, the tutor's model the one that is named; the same seed puts the same cases to each.
    """
    chosen = chosen_tutor(context, problems=problems, cache=model_cache, **tutor)
    try:
        source = problem_source(problems)
        prompts = find(RECIPE).fingerprints()
    except (BadProblemFile, UnknownProblems, BrokenPrompt) as unusable:
        raise Failure(str(unusable)) from unusable
    held_out = questions_of(source, seed=seed, learned=learned(datasets))
    putting = Putting(tutor=chosen, held_out=held_out, questions=questions, seed=seed, in_flight=in_flight)
    drawn, results = _evaluate(putting, quiet=quiet or as_json)
    report = {
        "protocol": "higgs",
        "name": name or chosen.name,
        "model": chosen.identity(),
        "adapters": sorted(set[str]().union(*(result.adapters for result in results))),
        "cases": {
            "problems": problems,
            "problems_sha256": source.digest,
            "questions": questions,
            "seed": seed,
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Putting:
    """Which questions are put to whom."""

    tutor: Tutor
    held_out: Iterator[Problem]
    questions: int
    seed: int
    in_flight: int


def _evaluate(putting: Putting, *, quiet: bool) -> tuple[Drawn, list[Judged]]:
    try:
        return uvloop.run(_evaluated(putting, quiet=quiet))
    except (SandboxUnavailable, TooFewQuestions, BadModelSettings, ExceptionGroup) as error:
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, SandboxUnavailable | TooFewQuestions | BadModelSettings | CannotServe):
            raise Failure(str(cause)) from error
        raise


async def _evaluated(putting: Putting, *, quiet: bool) -> tuple[Drawn, list[Judged]]:
    recipe, pool = find(RECIPE), SandboxPool(SandboxSettings())
    execute = partial(run, sandbox=pool)
    # The students and what was said before a case is put do not depend on the model.
    scripted = scripted_model(ModelSettings(problems=[putting.tutor.problems]))
    async with putting.tutor.answering() as answering:
        await pool.start()
        try:
            rehearsal = Rehearsal(tutoring=Tutoring(recipe=recipe, model=scripted, execute=execute), seed=putting.seed)
            drawn = await drawn_cases(putting.held_out, rehearsal, questions=putting.questions)
            tutoring = Tutoring(recipe=recipe, model=answering, execute=execute)
            with _Bar(answering, of=len(drawn.cases), quiet=quiet) as bar:
                results = await evaluated(drawn.cases, tutoring, at_once=putting.in_flight, tell=bar.tell)
            return drawn, results
        finally:
            await pool.stop()


class _Bar:
    """Cases done of all, those missed so far, and why nothing goes on where it does not."""

    def __init__(self, answering: Answering, *, of: int, quiet: bool) -> None:
        self._answering = answering
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
        self._progress.update(self._task, advance=1, standing=self._answering.fault or f"missed {self._missed}")


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
