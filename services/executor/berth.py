"""One place in the pool: a sandbox, and at times its successor booting beside it."""

import asyncio
import logging

from soliloquy.v1.sandbox_pb2 import Execution, Job

from services.executor.runsc import SandboxUnavailable
from services.executor.sandbox import Sandbox
from services.executor.site import Site

_log = logging.getLogger(__name__)


class Berth:
    def __init__(self, site: Site, sandbox: Sandbox) -> None:
        self._site = site
        self._sandbox = sandbox
        self._successor: asyncio.Task[Sandbox] | None = None
        self._recycle_at = site.settings.recycle_after

    async def execute(self, job: Job) -> Execution:
        return await self._sandbox.execute(job)

    async def disturbed(self) -> None:
        """Returns when `renew` has something to do: the sandbox has ended, or its successor is there."""
        ended = asyncio.create_task(self._sandbox.ended())
        try:
            watched = {ended, self._successor} if self._successor else {ended}
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()

    async def renew(self) -> None:
        """Makes the sandbox one that can take a job; SandboxUnavailable where none boots."""
        if self._successor and (self._successor.done() or not self._sandbox.usable):
            await self._succeed(self._successor)
        if not self._sandbox.usable:
            await self._sandbox.close()
            self._sandbox = await self._site.boot()
            self._recycle_at = self._site.settings.recycle_after
        if self._sandbox.jobs >= self._recycle_at and self._successor is None:
            self._successor = asyncio.create_task(self._site.boot())

    async def close(self) -> None:
        if self._successor:
            self._successor.cancel()
            for sandbox in await asyncio.gather(self._successor, return_exceptions=True):
                if isinstance(sandbox, Sandbox):
                    await sandbox.close()
        await self._sandbox.close()

    async def _succeed(self, successor: asyncio.Task[Sandbox]) -> None:
        self._successor = None
        try:
            fresh = await successor
        except SandboxUnavailable as fault:
            self._recycle_at = self._sandbox.jobs + self._site.settings.recycle_after
            _log.warning("a sandbox is kept past its %d jobs: %s", self._sandbox.jobs, fault)
        else:
            await self._sandbox.close()
            self._sandbox = fresh
            self._recycle_at = self._site.settings.recycle_after
