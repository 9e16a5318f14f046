"""Cases put to a tutor: drawn, judged in a sandbox, and what they came to as a report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from soliloquy.v1.conversation_pb2 import Problem

from services.cli.evaluate.questions import learned
from services.cli.evaluate.questions import questions as questions_of
from services.cli.evaluate.tutor import Answering, Tutor
from services.cli.failure import Failure
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
from training.evaluation.judging import Judged
from training.evaluation.report import PAPER
from training.evaluation.tutoring import Tutoring


@dataclass(frozen=True, kw_only=True, slots=True)
class Putting:
    """Which questions are put to whom."""

    tutor: Tutor
    questions: int
    seed: int
    in_flight: int
    # No question of these is put.
    trained: Sequence[Path] = ()

    def report(self, name: str, *, quiet: bool) -> tuple[dict[str, Any], list[Judged]]:
        """With what was found of each case; raises Failure."""
        try:
            source = problem_source(self.tutor.problems)
            prompts = find(RECIPE).fingerprints()
        except (BadProblemFile, UnknownProblems, BrokenPrompt) as unusable:
            raise Failure(str(unusable)) from unusable
        held_out = questions_of(source, seed=self.seed, learned=learned(self.trained))
        drawn, results = _evaluate(self, held_out, quiet=quiet)
        report = {
            "protocol": "higgs",
            "name": name,
            "model": self.tutor.identity(),
            "adapters": sorted(set[str]().union(*(result.adapters for result in results))),
            "cases": {
                "problems": self.tutor.problems,
                "problems_sha256": source.digest,
                "questions": self.questions,
                "seed": self.seed,
                "sha256": drawn.digest,
                "passed_over": drawn.passed_over,
                "problem_ids": sorted({case.conversation.problem.id for case in drawn.cases}),
            },
            "prompts_sha256": prompts,
            "figures": figures(results),
            "paper": PAPER,
        }
        return report, results


def _evaluate(putting: Putting, held_out: Iterator[Problem], *, quiet: bool) -> tuple[Drawn, list[Judged]]:
    try:
        return uvloop.run(_evaluated(putting, held_out, quiet=quiet))
    except (SandboxUnavailable, TooFewQuestions, BadModelSettings, ExceptionGroup) as error:
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, SandboxUnavailable | TooFewQuestions | BadModelSettings | CannotServe):
            raise Failure(str(cause)) from error
        raise


async def _evaluated(putting: Putting, held_out: Iterator[Problem], *, quiet: bool) -> tuple[Drawn, list[Judged]]:
    recipe, pool = find(RECIPE), SandboxPool(SandboxSettings())
    execute = partial(run, sandbox=pool)
    # The students and what was said before a case is put do not depend on the model.
    scripted = scripted_model(ModelSettings(problems=[putting.tutor.problems]))
    async with putting.tutor.answering() as answering:
        await pool.start()
        try:
            rehearsal = Rehearsal(tutoring=Tutoring(recipe=recipe, model=scripted, execute=execute), seed=putting.seed)
            drawn = await drawn_cases(held_out, rehearsal, questions=putting.questions)
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
