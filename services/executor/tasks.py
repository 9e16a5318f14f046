"""Tasks that outlive a cancelled caller, and end when the pool stops."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from services.executor.gvisor.runsc import SandboxUnavailable

T = TypeVar("T")


class ShieldedTasks:
    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Raises SandboxUnavailable if the pool stops before the work is done."""
        running = asyncio.create_task(work)
        self._running.add(running)
        running.add_done_callback(self._settle)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if running.cancelled():
                raise SandboxUnavailable("the sandbox pool has stopped") from None
            raise

    async def stop(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _settle(self, running: asyncio.Task[Any]) -> None:
        self._running.discard(running)
        # Retrieve the error: a cancelled caller never does.
        if not running.cancelled():
            running.exception()
