"""Attends the models of a command: shows why calls wait, and ends the command if no answer is to be expected."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from soliloquy.cli.command import gathered
from soliloquy.cli.model_options import MODELS, RECORD
from soliloquy.cli.options import WAIT
from soliloquy.cli.progress import calls_line, count
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runs.progress import WaitingCalls, hopeless
from soliloquy.runtime.failure import Broken, first_error
from soliloquy.runtime.model import Model
from soliloquy.runtime.model.checking import require_endpoints
from soliloquy.runtime.model.opening import ModelByRole, open_models
from soliloquy.runtime.model.settings import Models

LOOK_SECONDS = 1.0
C = TypeVar("C")
R = TypeVar("R")


@asynccontextmanager
async def attended(
    model: ModelByRole, *, wait: bool, show: Callable[[str], None] = lambda _: None
) -> AsyncIterator[None]:
    """Raises Broken for an endpoint that a person has to fix or, unless told to wait, that answers nothing."""

    async def look() -> None:
        while True:
            if why := hopeless(model.statuses, wait=wait):
                raise Broken(why)
            show(calls_line(WaitingCalls.at(model.statuses)))
            await asyncio.sleep(LOOK_SECONDS)

    try:
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(look())
            yield
            looking.cancel()
    except ExceptionGroup as errors:
        raise first_error(errors) from errors


async def run_counted(
    model: ModelByRole,
    cases: Sequence[C],
    run: Callable[[C], Awaitable[R]],
    unit: str,
    *,
    in_flight: int,
    wait: bool,
    quiet: bool,
    figures: Callable[[Sequence[R]], Sequence[str]] = lambda _: (),
) -> list[R]:
    """Returns the results in order, while a bar counts them and says why calls of the model wait."""
    from soliloquy_training.evaluation.cases import run_bounded

    results = list[R]()
    with count(unit, len(cases), quiet=quiet) as show:

        def tell(fault: str) -> None:
            show(len(results), figures(results), fault)

        def advance(result: R) -> None:
            results.append(result)
            tell("")

        async with attended(model, wait=wait, show=tell):
            return await run_bounded(cases, run, at_once=in_flight, on_result=advance)


@dataclass(frozen=True, kw_only=True, slots=True)
class AttendedModels:
    """The models of a command that asks them about one case after the other."""

    models: Models
    record: Path | None
    wait: bool

    async def ask_about_each(
        self,
        cases: Sequence[C],
        ask: Callable[[C, Model], Awaitable[R]],
        unit: str,
        *,
        in_flight: int,
        quiet: bool,
        problems: Sequence[str] = (),
    ) -> list[R]:
        """Returns the result of each case in order, while a bar counts them; raises Failure.

        `problems` are the sources that the scripted model knows.
        """
        await require_endpoints(self.models, self.record)
        scripted = ModelSettings(problems=problems)
        async with open_models(self.models, lambda: scripted_model(scripted), self.record) as model:
            return await run_counted(
                model, cases, lambda case: ask(case, model), unit, in_flight=in_flight, wait=self.wait, quiet=quiet
            )


def _attended_models(models: Models = MODELS, record: Path | None = RECORD, wait: bool = WAIT) -> AttendedModels:
    return AttendedModels(models=models, record=record, wait=wait)


ASKED = gathered(_attended_models)
