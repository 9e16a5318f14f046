"""A lane: berths that are kept in order in the background, and the line of those who wait for one."""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TypeVar

from services.executor.berth import Berth
from services.executor.gvisor.runsc import SandboxUnavailable
from services.executor.sandbox import Sandbox
from services.executor.works import Works
from soliloquy.runtime.retry import Transient

_log = logging.getLogger(__name__)

# A job that has waited so long is worth a further sandbox.
_PATIENCE_SECONDS = 0.2
_REBOOT_DELAYS = (0.2, 0.5, 1.0, 2.0, 5.0)

T = TypeVar("T")


class Busy(Transient):
    """As many jobs wait as may."""


class Lane:
    def __init__(
        self, boot: Callable[[], Awaitable[Sandbox]], works: Works, *, berths: int, recycle_after: int, max_waiting: int
    ) -> None:
        self._works = works
        self._berths = [Berth(boot, recycle_after) for _ in range(berths)]
        self._max_waiting = max_waiting
        self._idle: deque[Berth] = deque()
        self._waiters: deque[asyncio.Future[Berth]] = deque()
        self._down: set[Berth] = set()
        self._fault = "the lane is not started"
        self._keepers: list[asyncio.Task[None]] = []

    @property
    def begun(self) -> bool:
        return bool(self._keepers)

    @property
    def fault(self) -> str | None:
        """Why the lane has no sandbox at all; None where it has one or is booting it."""
        return self._fault if len(self._down) >= len(self._keepers) else None

    @property
    def busy(self) -> int:
        """Jobs that are in a sandbox."""
        return sum(not berth.vacant.is_set() for berth in self._berths)

    def start(self) -> None:
        """With one sandbox; the others are booted once jobs have to wait."""
        if not self._keepers:
            self._keep_another()

    async def ready(self) -> None:
        """Returns when a sandbox can take a job; SandboxUnavailable where none boots."""
        await self.run(_nothing)

    async def run(self, work: Callable[[Sandbox], Awaitable[T]]) -> T:
        """Does the work with the next free sandbox; a caller that gives up leaves the work to end by itself."""
        berth = await self._free_berth()
        return await self._works.do(self._occupy(berth, work))

    async def stop(self) -> None:
        """Ends every sandbox; whoever waits for one is refused."""
        self._fault = "the sandbox pool has stopped"
        keepers, self._keepers = self._keepers, []
        self._refuse_waiters()
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)

    async def _free_berth(self) -> Berth:
        if fault := self.fault:
            raise SandboxUnavailable(fault)
        if self._idle:
            return self._taken(self._idle.popleft())
        if len(self._waiters) >= self._max_waiting:
            raise Busy(f"{len(self._waiters)} jobs wait for a sandbox already: try again later")
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Berth] = loop.create_future()
        self._waiters.append(waiter)
        impatience = loop.call_later(_PATIENCE_SECONDS, self._grow)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            # The berth may have come in the same moment.
            elif not waiter.cancelled() and not waiter.exception():
                self._vacate(waiter.result())
            raise
        finally:
            impatience.cancel()

    def _grow(self) -> None:
        # While one of them boots, it is that for which jobs wait.
        if self._keepers and self.busy == len(self._keepers) < len(self._berths):
            self._keep_another()

    def _keep_another(self) -> None:
        keeping = self._keep(self._berths[len(self._keepers)])
        # For all jobs to come: what it logs is not of the one that it was begun for.
        self._keepers.append(asyncio.create_task(keeping, context=Context()))

    async def _occupy(self, berth: Berth, work: Callable[[Sandbox], Awaitable[T]]) -> T:
        try:
            return await work(berth.sandbox)
        finally:
            berth.look_over()
            self._vacate(berth)

    def _taken(self, berth: Berth) -> Berth:
        berth.vacant.clear()
        return berth

    def _vacate(self, berth: Berth) -> None:
        berth.vacant.set()
        # A worn one is its keeper's, who offers it again.
        if not berth.worn.is_set():
            self._offer(berth)

    def _offer(self, berth: Berth) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(self._taken(berth))
                return
        self._idle.append(berth)

    async def _keep(self, berth: Berth) -> None:
        try:
            while True:
                await self._renew(berth)
                self._offer(berth)
                await berth.worn.wait()
                await berth.vacant.wait()
                if berth in self._idle:
                    self._idle.remove(berth)
        finally:
            await berth.close()

    async def _renew(self, berth: Berth) -> None:
        """Tries until the berth has a sandbox; while no berth has one, jobs are refused."""
        for delay in itertools.chain(_REBOOT_DELAYS, itertools.repeat(_REBOOT_DELAYS[-1])):
            try:
                await berth.renew()
            except SandboxUnavailable as fault:
                _log.warning("%s", fault)
                self._fault = str(fault)
                self._down.add(berth)
                if self.fault:
                    self._refuse_waiters()
                await asyncio.sleep(delay)
            else:
                self._down.discard(berth)
                return

    def _refuse_waiters(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(SandboxUnavailable(self._fault))


async def _nothing(_: Sandbox) -> None:
    """Takes a berth and leaves it."""
