"""Sandboxes that run one job each: some booted in advance, and no more in use than the machine serves well."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy_services.executor.lane import Busy, ShieldedTasks
from soliloquy_services.executor.policy import MATH
from soliloquy_services.executor.sandbox import WarmSandbox

_log = logging.getLogger(__name__)

T = TypeVar("T")


class SingleUsePool:
    def __init__(
        self,
        boot: Callable[[str], Awaitable[WarmSandbox]],
        tasks: ShieldedTasks,
        *,
        spares: int,
        at_once: int,
        max_waiting: int,
    ) -> None:
        self._boot = boot
        self._tasks = tasks
        self._spares = spares
        self._places = asyncio.Semaphore(at_once)
        self._max_waiting = max_waiting
        self._waiting = 0
        self.busy = 0
        self._ready: deque[WarmSandbox] = deque()
        self._refilling: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    async def run(self, kind: str, work: Callable[[WarmSandbox], Awaitable[T]]) -> T:
        """Does the work in a fresh sandbox, which is closed afterwards."""
        if self._waiting >= self._max_waiting:
            raise Busy(f"{self._waiting} jobs are already waiting for a sandbox of their own: try again later")
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        return await self._tasks.run(self._use(kind, work))

    def refill(self) -> None:
        if self._refilling is None or self._refilling.done():
            self._refilling = asyncio.create_task(self._boot_spares())

    async def stop(self) -> None:
        if self._refilling:
            self._refilling.cancel()
            await asyncio.gather(self._refilling, return_exceptions=True)
        await asyncio.gather(*self._closing, *(spare.close() for spare in self._ready))
        self._ready.clear()

    async def _use(self, kind: str, work: Callable[[WarmSandbox], Awaitable[T]]) -> T:
        try:
            sandbox = await self._fresh(kind)
            self.busy += 1
            try:
                self.refill()
                return await work(sandbox)
            finally:
                self.busy -= 1
                # The answer does not wait for the sandbox to close.
                self._closing.add(closing := asyncio.create_task(sandbox.close()))
                closing.add_done_callback(self._closing.discard)
        finally:
            self._places.release()

    async def _fresh(self, kind: str) -> WarmSandbox:
        # The spares have no packages; other kinds boot on demand.
        while self._ready and kind == MATH:
            spare = self._ready.popleft()
            if spare.usable:
                return spare
            await spare.close()
        return await self._boot(kind)

    async def _boot_spares(self) -> None:
        try:
            while len(self._ready) < self._spares:
                self._ready.append(await self._boot(MATH))
        except SandboxUnavailable as fault:
            # The next job boots its own, and fails with the reason if it cannot.
            _log.warning("no spare sandbox: %s", fault)
