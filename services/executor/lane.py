"""A lane: warm sandboxes that keepers replace in the background, and a queue of jobs that wait for one."""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, TypeVar

from soliloquy.runtime.retry import Transient
from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy_services.executor.sandbox import WarmSandbox

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


@dataclass(kw_only=True, slots=True, eq=False)
class _Slot:
    sandbox: WarmSandbox
    # After so many jobs it is due for a successor.
    recycle_at: int
    # Set when its keeper has work to do, and while no job is in it or on its way there.
    worn: asyncio.Event = field(default_factory=asyncio.Event)
    vacant: asyncio.Event = field(default_factory=asyncio.Event)
    # Whether it takes no further job.
    retired: bool = False


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
        self._boot = boot
        self._tasks = tasks
        self._most = slots
        self._recycle_after = recycle_after
        self._max_waiting = max_waiting
        self._idle: deque[_Slot] = deque()
        self._waiters: deque[asyncio.Future[_Slot]] = deque()
        # One for each sandbox, and the number of those that have none because none boots.
        self._keepers: list[asyncio.Task[None]] = []
        self._down = 0
        self._fault = "the lane is not started"
        # The number of jobs that are in a sandbox.
        self.busy = 0

    @property
    def begun(self) -> bool:
        return bool(self._keepers)

    @property
    def fault(self) -> str | None:
        """Why the lane has no sandbox; None if it has one or is booting it."""
        return self._fault if self._down >= len(self._keepers) else None

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

    async def _free_slot(self) -> _Slot:
        if fault := self.fault:
            raise SandboxUnavailable(fault)
        while self._idle:
            # The keeper of one that has ended knows it already, or in a moment.
            if (slot := self._idle.popleft()).sandbox.usable:
                return self._taken(slot)
        if len(self._waiters) >= self._max_waiting:
            raise Busy(f"{len(self._waiters)} jobs are already waiting for a sandbox: try again later")
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[_Slot] = loop.create_future()
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

    def _grow_for(self, waiter: asyncio.Future[_Slot]) -> None:
        """Boots another sandbox each time that the job has waited for so long again."""
        if waiter.done() or len(self._keepers) == self._most:
            return
        # While a sandbox boots, the jobs are waiting for that one.
        if self.busy == len(self._keepers):
            self._keep_another()
        asyncio.get_running_loop().call_later(_PATIENCE_SECONDS, self._grow_for, waiter)

    def _keep_another(self) -> None:
        # An empty context: its log lines do not belong to the job that caused it.
        self._keepers.append(asyncio.create_task(self._keep(), context=Context()))

    async def _occupy(self, slot: _Slot, work: Callable[[WarmSandbox], Awaitable[T]]) -> T:
        try:
            return await work(slot.sandbox)
        finally:
            self._vacate(slot)

    def _taken(self, slot: _Slot) -> _Slot:
        self.busy += 1
        slot.vacant.clear()
        return slot

    def _vacate(self, slot: _Slot) -> None:
        self.busy -= 1
        slot.vacant.set()
        if not slot.sandbox.usable or slot.sandbox.jobs >= slot.recycle_at:
            slot.worn.set()
        if slot.sandbox.usable and not slot.retired:
            self._offer(slot)

    def _offer(self, slot: _Slot) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(self._taken(slot))
                return
        self._idle.append(slot)

    async def _keep(self) -> None:
        """Keeps one sandbox in the lane, and replaces it when it has ended or has had its share of jobs."""
        slot: _Slot | None = None
        fresh: WarmSandbox | None = None
        try:
            while True:
                sandbox = fresh or await self._first_that_boots()
                slot, fresh = _Slot(sandbox=sandbox, recycle_at=self._recycle_after), None
                slot.vacant.set()
                # It ends with its sandbox, which is closed in any case.
                watch = asyncio.create_task(_mark_worn_when_ended(slot))
                self._offer(slot)
                fresh = await self._successor(slot)
                slot.retired = True
                await slot.vacant.wait()
                if slot in self._idle:
                    self._idle.remove(slot)
                await slot.sandbox.close()
                await watch
        finally:
            for left in (fresh, slot.sandbox if slot else None):
                if left:
                    await left.close()

    async def _successor(self, slot: _Slot) -> WarmSandbox | None:
        """Boots a sandbox in place of one that has had its jobs, which meanwhile goes on; None once it has ended."""
        while slot.sandbox.usable:
            slot.worn.clear()
            await slot.worn.wait()
            if slot.sandbox.usable:
                try:
                    return await self._boot()
                except SandboxUnavailable as fault:
                    jobs = slot.sandbox.jobs
                    slot.recycle_at = jobs + self._recycle_after
                    _log.warning("no successor boots, so a sandbox goes on after %d jobs: %s", jobs, fault)
        return None

    async def _first_that_boots(self) -> WarmSandbox:
        """Retries until a sandbox boots; while no keeper has one, jobs are refused."""
        is_down = False
        delays = itertools.chain(_REBOOT_DELAYS, itertools.repeat(_REBOOT_DELAYS[-1]))
        while True:
            try:
                sandbox = await self._boot()
            except SandboxUnavailable as fault:
                _log.warning("%s", fault)
                self._fault = str(fault)
                self._down += not is_down
                is_down = True
                if self.fault:
                    self._refuse_waiters()
                await asyncio.sleep(next(delays))
            else:
                self._down -= is_down
                return sandbox

    def _refuse_waiters(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(SandboxUnavailable(self._fault))


async def _mark_worn_when_ended(slot: _Slot) -> None:
    await slot.sandbox.ended()
    slot.worn.set()


async def _nothing(_: WarmSandbox) -> None:
    """Occupies a slot without using it."""
