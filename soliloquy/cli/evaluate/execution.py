"""Runs an evaluation: an event loop, a sandbox and a progress bar."""

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from soliloquy.cli.errors import reporting
from soliloquy.cli.evaluate.tutor import TutorModel
from soliloquy.recipes.recipe import find
from soliloquy.runs.failure import Failure
from soliloquy.runtime.ask import BrokenPrompt
from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.runtime.model.settings import BadModelSettings
from soliloquy.runtime.retry import CannotServe

if TYPE_CHECKING:
    from training.evaluation.recipe_loop import Execute

T = TypeVar("T")


def run_evaluation(evaluation: Coroutine[Any, Any, T]) -> T:
    """Returns its result; raises Failure if it cannot be run."""
    from services.executor.gvisor.runsc import SandboxUnavailable
    from training.evaluation.recipe_loop import TooFewCases

    expected = (SandboxUnavailable, TooFewCases, BadModelSettings, CannotServe, ModelRefused, ModelFailed)
    try:
        return uvloop.run(evaluation)
    except (*expected, ExceptionGroup) as error:
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, expected):
            raise Failure(str(cause)) from error
        raise


def fingerprints(recipe: str) -> dict[str, str]:
    """Returns the digests of the recipe's prompts; raises Failure."""
    with reporting(BrokenPrompt):
        return find(recipe).fingerprints()


@asynccontextmanager
async def sandboxed() -> "AsyncIterator[Execute]":
    """Runs the tutor's programs as the executor does."""
    from services.executor.handler import run
    from services.executor.pool import SandboxPool
    from services.executor.settings import SandboxSettings

    pool = SandboxPool(SandboxSettings())
    await pool.start()
    try:
        yield partial(run, sandbox=pool)
    finally:
        await pool.stop()


class CaseProgress:
    """A bar with the finished cases and their result so far, or why the tutor's model does not answer."""

    def __init__(self, model: TutorModel, *, cases: int, quiet: bool) -> None:
        self._model = model
        columns = (TextColumn("cases"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
        self._progress = Progress(
            *columns, TimeRemainingColumn(compact=True), console=Console(stderr=True), disable=quiet
        )
        self._task = self._progress.add_task("cases", total=cases, note="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, note: str) -> None:
        self._progress.update(self._task, advance=1, note=self._model.fault or note)
