"""One slot of a lane: a sandbox, and its successor while that boots."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy_services.executor.sandbox import WarmSandbox

_log = logging.getLogger(__name__)


class SandboxSlot:
    def __init__(self, boot: Callable[[], Awaitable[WarmSandbox]], recycle_after: int) -> None:
        self._boot = boot
        self._recycle_after = recycle_after
        self._recycle_at = recycle_after
        self._sandbox: WarmSandbox | None = None
        self._successor: asyncio.Task[WarmSandbox] | None = None
        self._watch: asyncio.Task[None] | None = None
        # `worn` is set when `renew` has work to do, `vacant` when no job is in the slot or on its way there.
        self.worn = asyncio.Event()
        self.vacant = asyncio.Event()
        self.vacant.set()

    @property
    def sandbox(self) -> WarmSandbox:
        assert self._sandbox is not None, "a slot is offered after its first renewal"
        return self._sandbox

    def check(self) -> None:
        """Marks an unusable sandbox as worn, and boots a successor when one is due; called after each job."""
        if not self.sandbox.usable:
            self.worn.set()
        elif self.sandbox.jobs >= self._recycle_at and self._successor is None:
            self._successor = asyncio.ensure_future(self._boot())
            self._successor.add_done_callback(lambda _: self.worn.set())

    async def renew(self) -> None:
        """Provides a sandbox that can take a job; raises SandboxUnavailable if none boots."""
        self.worn.clear()
        if self._successor and (self._successor.done() or not self.sandbox.usable):
            successor, self._successor = self._successor, None
            try:
                await self._install(await successor)
            except SandboxUnavailable as fault:
                self._recycle_at = self.sandbox.jobs + self._recycle_after
                _log.warning("no successor boots, so a sandbox goes on after %d jobs: %s", self.sandbox.jobs, fault)
        if self._sandbox is None or not self._sandbox.usable:
            await self._install(await self._boot())

    async def close(self) -> None:
        if self._successor:
            self._successor.cancel()
            for sandbox in await asyncio.gather(self._successor, return_exceptions=True):
                if isinstance(sandbox, WarmSandbox):
                    await sandbox.close()
        await self._clear()

    async def _install(self, fresh: WarmSandbox) -> None:
        await self._clear()
        self._sandbox = fresh
        self._recycle_at = self._recycle_after
        self._watch = asyncio.create_task(self._mark_worn_when_ended(fresh))

    async def _clear(self) -> None:
        if self._watch:
            self._watch.cancel()
        if self._sandbox:
            await self._sandbox.close()
            self._sandbox = None

    async def _mark_worn_when_ended(self, sandbox: WarmSandbox) -> None:
        await sandbox.ended()
        self.worn.set()
