"""Waits for a condition. The limit costs nothing while all goes well, and a loaded machine is slow."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

PATIENCE_SECONDS = 120.0


async def until(
    condition: Callable[[], object | Awaitable[object]], seconds: float = PATIENCE_SECONDS, *, pause: float = 0.01
) -> None:
    """Looks in every turn of the event loop if the pause is 0, so that no state is too short to be seen."""
    deadline = time.monotonic() + seconds
    while True:
        holds = condition()
        if (await holds) if inspect.isawaitable(holds) else holds:
            return
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        await asyncio.sleep(pause)


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        time.sleep(0.02)
