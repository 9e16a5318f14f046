"""A lane: slots that keepers renew in the background, and a queue of jobs that wait for one."""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

from soliloquy.runtime.retry import Transient
from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy_services.executor.sandbox import WarmSandbox
from soliloquy_services.executor.slot import SandboxSlot

_log = logging.getLogger(__name__)

# A job that has waited this long is worth another sandbox.
_PATIENCE_SECONDS = 0.2
_REBOOT_DELAYS = (0.2, 0.5, 1.0, 2.0, 5.0)

T = TypeVar("T")


class Busy(Transient):
    """The queue of waiting jobs is full."""


class ShieldedTasks:
    """Tasks that outlive a cancelled caller, and end when the pool stops."""

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


class SandboxLane:
    def __init__(
        self,
        boot: Callable[[], Awaitable[WarmSandbox]],
        tasks: ShieldedTasks,
        *,
        slots: int,
        recycle_after: int,
        max_waiting: int,
    ) -> None:
        self._tasks = tasks
        self._slots = [SandboxSlot(boot, recycle_after) for _ in range(slots)]
        self._max_waiting = max_waiting
        self._idle: deque[SandboxSlot] = deque()
        self._waiters: deque[asyncio.Future[SandboxSlot]] = deque()
        self._down: set[SandboxSlot] = set()
        self._fault = "the lane is not started"
        self._keepers: list[asyncio.Task[None]] = []

    @property
    def begun(self) -> bool:
        return bool(self._keepers)

    @property
    def fault(self) -> str | None:
        """Why the lane has no sandbox; None if it has one or is booting it."""
        return self._fault if len(self._down) >= len(self._keepers) else None

    @property
    def busy(self) -> int:
        """The number of jobs that are in a sandbox."""
        return sum(not slot.vacant.is_set() for slot in self._slots)

    def start(self) -> None:
        """Boots one sandbox; the others boot once jobs have to wait."""
        if not self._keepers:
            self._keep_another()

    async def ready(self) -> None:
        """Returns when a sandbox can take a job; raises SandboxUnavailable if none boots."""
        await self.run(_nothing)

    async def run(self, work: Callable[[WarmSandbox], Awaitable[T]]) -> T:
        """Does the work with the next free sandbox; the work continues if its caller is cancelled."""
        slot = await self._free_slot()
        return await self._tasks.run(self._occupy(slot, work))

    async def stop(self) -> None:
        """Ends every sandbox and refuses the jobs that wait for one."""
        self._fault = "the sandbox pool has stopped"
        keepers, self._keepers = self._keepers, []
        self._refuse_waiters()
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)

    async def _free_slot(self) -> SandboxSlot:
        if fault := self.fault:
            raise SandboxUnavailable(fault)
        if self._idle:
            return self._taken(self._idle.popleft())
        if len(self._waiters) >= self._max_waiting:
            raise Busy(f"{len(self._waiters)} jobs are already waiting for a sandbox: try again later")
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[SandboxSlot] = loop.create_future()
        self._waiters.append(waiter)
        loop.call_later(_PATIENCE_SECONDS, self._grow_for, waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            # The slot may have been assigned in the same moment.
            elif not waiter.cancelled() and not waiter.exception():
                self._vacate(waiter.result())
            raise

    def _grow_for(self, waiter: asyncio.Future[SandboxSlot]) -> None:
        """Boots another sandbox each time that the job has waited for so long again."""
        if waiter.done() or len(self._keepers) == len(self._slots):
            return
        # While a sandbox boots, the jobs are waiting for that one.
        if self.busy == len(self._keepers):
            self._keep_another()
        asyncio.get_running_loop().call_later(_PATIENCE_SECONDS, self._grow_for, waiter)

    def _keep_another(self) -> None:
        keeping = self._keep(self._slots[len(self._keepers)])
        # An empty context: its log lines do not belong to the job that caused it.
        self._keepers.append(asyncio.create_task(keeping, context=Context()))

    async def _occupy(self, slot: SandboxSlot, work: Callable[[WarmSandbox], Awaitable[T]]) -> T:
        try:
            return await work(slot.sandbox)
        finally:
            slot.check()
            self._vacate(slot)

    def _taken(self, slot: SandboxSlot) -> SandboxSlot:
        slot.vacant.clear()
        return slot

    def _vacate(self, slot: SandboxSlot) -> None:
        slot.vacant.set()
        # A worn slot belongs to its keeper, which offers it again.
        if not slot.worn.is_set():
            self._offer(slot)

    def _offer(self, slot: SandboxSlot) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(self._taken(slot))
                return
        self._idle.append(slot)

    async def _keep(self, slot: SandboxSlot) -> None:
        try:
            while True:
                await self._renew(slot)
                self._offer(slot)
                await slot.worn.wait()
                await slot.vacant.wait()
                if slot in self._idle:
                    self._idle.remove(slot)
        finally:
            await slot.close()

    async def _renew(self, slot: SandboxSlot) -> None:
        """Retries until the slot has a sandbox; while no slot has one, jobs are refused."""
        for delay in itertools.chain(_REBOOT_DELAYS, itertools.repeat(_REBOOT_DELAYS[-1])):
            try:
                await slot.renew()
            except SandboxUnavailable as fault:
                _log.warning("%s", fault)
                self._fault = str(fault)
                self._down.add(slot)
                if self.fault:
                    self._refuse_waiters()
                await asyncio.sleep(delay)
            else:
                self._down.discard(slot)
                return

    def _refuse_waiters(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(SandboxUnavailable(self._fault))


async def _nothing(_: WarmSandbox) -> None:
    """Occupies a slot without using it."""
