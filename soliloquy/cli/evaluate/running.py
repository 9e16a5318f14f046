"""What an evaluation needs while it runs: a sandbox, a loop of its own, and a bar that shows how far it is."""

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Self, TypeVar

import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from services.executor.gvisor.runsc import SandboxUnavailable
from services.executor.handler import run
from services.executor.pool import SandboxPool
from services.executor.settings import SandboxSettings
from soliloquy.cli.evaluate.tutor import Answering
from soliloquy.recipes.recipe import find
from soliloquy.runs.failure import Failure
from soliloquy.runtime.ask import BrokenPrompt
from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.runtime.model.settings import BadModelSettings
from soliloquy.runtime.retry import CannotServe
from training.evaluation.recipe_loop import Execute, TooFewCases

T = TypeVar("T")
# What is said to the user in a line.
_SAID = (SandboxUnavailable, TooFewCases, BadModelSettings, CannotServe, ModelRefused, ModelFailed)


def completed(evaluation: Coroutine[Any, Any, T]) -> T:
    """What it comes to; raises Failure where it cannot be run."""
    try:
        return uvloop.run(evaluation)
    except (*_SAID, ExceptionGroup) as error:
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, _SAID):
            raise Failure(str(cause)) from error
        raise


def fingerprints(recipe: str) -> dict[str, str]:
    """Of the recipe's prompts; raises Failure."""
    try:
        return find(recipe).fingerprints()
    except BrokenPrompt as broken:
        raise Failure(str(broken)) from broken


@asynccontextmanager
async def sandboxed() -> AsyncIterator[Execute]:
    """Runs the tutor's programs as the executor does."""
    pool = SandboxPool(SandboxSettings())
    await pool.start()
    try:
        yield partial(run, sandbox=pool)
    finally:
        await pool.stop()


class Bar:
    """Cases done of all, how they stand, and why nothing goes on where it does not."""

    def __init__(self, answering: Answering, *, of: int, quiet: bool) -> None:
        self._answering = answering
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

    def tell(self, standing: str) -> None:
        self._progress.update(self._task, advance=1, standing=self._answering.fault or standing)
