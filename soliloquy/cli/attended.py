"""Attends the models of a command: shows why calls wait, and ends the command if no answer is to be expected."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from soliloquy.cli.progress import calls_line, count
from soliloquy.runs.progress import WaitingCalls, hopeless
from soliloquy.runtime.failure import Broken, first_error
from soliloquy.runtime.model.opening import ModelByRole

LOOK_SECONDS = 1.0
T = TypeVar("T")


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
            tasks = [group.create_task(look()), group.create_task(model.watch())]
            yield
            for task in tasks:
                task.cancel()
    except ExceptionGroup as errors:
        raise first_error(errors) from errors


async def attended_results(
    work: Sequence[Awaitable[T]], model: ModelByRole, *, unit: str, wait: bool, quiet: bool
) -> list[T]:
    """Returns the results as they come, while a bar counts them."""
    results: list[T] = []
    with count(unit, len(work), quiet=quiet) as show:
        async with attended(model, wait=wait, show=lambda fault: show(len(results), "", fault)):
            for each in asyncio.as_completed(work):
                results.append(await each)
                show(len(results), "", "")
    return results
