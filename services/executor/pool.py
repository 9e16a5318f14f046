"""The pool that every job goes through: one queue, and a berth for each sandbox."""

import asyncio
import itertools
import logging
from dataclasses import dataclass, field

from soliloquy.v1.sandbox_pb2 import LANE_FORK, STATUS_SANDBOX_DIED, Execution, Job

from services.executor.berth import Berth
from services.executor.runsc import SandboxUnavailable
from services.executor.sandbox import Sandbox, SandboxDied
from services.executor.settings import SandboxSettings
from services.executor.site import Site, open_site

_log = logging.getLogger(__name__)

_REBOOT_DELAYS = (0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True, order=True, slots=True)
class _Pending:
    """A job in the queue, which is put back in its old place where a berth fails it."""

    ordinal: int
    job: Job = field(compare=False)
    answer: asyncio.Future[Execution] = field(compare=False)


class SandboxPool:
    """Runs jobs in gVisor or not at all: where no sandbox is to be had, jobs fail with SandboxUnavailable."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._site: Site | None = None
        self._ordinals = itertools.count()
        self._queue: asyncio.PriorityQueue[_Pending] = asyncio.PriorityQueue()
        self._unanswered: set[asyncio.Future[Execution]] = set()
        self._keepers: list[asyncio.Task[None]] = []
        self._down: set[Berth] = set()
        self._fault = "the sandbox pool is not started"

    async def start(self) -> None:
        site, first = await open_site(self._settings)
        others = [site.boot() for _ in range(self._settings.sandboxes - 1)]
        booted = [first, *await asyncio.gather(*others, return_exceptions=True)]
        sandboxes = [sandbox for sandbox in booted if isinstance(sandbox, Sandbox)]
        self._site = site
        self._keepers = [asyncio.create_task(self._keep(Berth(site, sandbox))) for sandbox in sandboxes]
        for fault in booted:
            if isinstance(fault, BaseException):
                await self.stop()
                raise fault

    async def execute(self, job: Job) -> Execution:
        """The job's outcome, whatever its code does; waits for a free sandbox."""
        if len(self._down) == len(self._keepers):
            raise SandboxUnavailable(self._fault)
        answer: asyncio.Future[Execution] = asyncio.get_running_loop().create_future()
        self._unanswered.add(answer)
        self._queue.put_nowait(_Pending(next(self._ordinals), job, answer))
        try:
            return await answer
        finally:
            self._unanswered.discard(answer)

    async def stop(self) -> None:
        """Ends every sandbox and leaves nothing behind; unanswered jobs fail with SandboxUnavailable."""
        keepers, self._keepers = self._keepers, []
        site, self._site = self._site, None
        self._down.clear()
        self._fault = "the sandbox pool has stopped"
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        self._refuse_all()
        if site:
            await asyncio.to_thread(site.folder.remove)

    async def _keep(self, berth: Berth) -> None:
        try:
            while True:
                await self._renew(berth)
                if pending := await self._next(berth):
                    await self._answer(pending, berth)
        finally:
            await berth.close()

    async def _next(self, berth: Berth) -> _Pending | None:
        """The oldest job; None where the berth must be renewed first."""
        if not self._queue.empty():
            return self._queue.get_nowait()
        taking = asyncio.create_task(self._queue.get())
        disturbed = asyncio.create_task(berth.disturbed())
        try:
            await asyncio.wait((taking, disturbed), return_when=asyncio.FIRST_COMPLETED)
            return taking.result() if taking.done() else None
        finally:
            taking.cancel()
            disturbed.cancel()

    async def _answer(self, pending: _Pending, berth: Berth) -> None:
        if pending.answer.done():
            return
        try:
            done = await self._execute(pending.job, berth)
        except SandboxUnavailable:
            # Another berth may have a sandbox; if none has, the job is refused with the rest.
            self._queue.put_nowait(pending)
            return
        # The caller may have given up meanwhile.
        if not pending.answer.done():
            pending.answer.set_result(done)

    async def _execute(self, job: Job, berth: Berth) -> Execution:
        """Tries the job again in a fresh sandbox where one dies on it: it may not have been the job's doing."""
        try:
            return await berth.execute(job)
        except SandboxDied as death:
            _log.warning("a sandbox died on job %s, which is tried again: %s", job.id, death)
        await berth.renew()
        try:
            return await berth.execute(job)
        except SandboxDied as death:
            _log.warning("a fresh sandbox died on job %s too: %s", job.id, death)
            return Execution(
                status=STATUS_SANDBOX_DIED, error=f"two sandboxes died on the job: {death}", lane=LANE_FORK
            )

    async def _renew(self, berth: Berth) -> None:
        """Tries until the berth has a sandbox; while no berth has one, jobs are refused."""
        for delay in itertools.chain(_REBOOT_DELAYS, itertools.repeat(_REBOOT_DELAYS[-1])):
            try:
                await berth.renew()
            except SandboxUnavailable as fault:
                _log.warning("%s", fault)
                self._fault = str(fault)
                self._down.add(berth)
                if len(self._down) == len(self._keepers):
                    self._refuse_all()
                await asyncio.sleep(delay)
            else:
                self._down.discard(berth)
                return

    def _refuse_all(self) -> None:
        for answer in self._unanswered:
            if not answer.done():
                answer.set_exception(SandboxUnavailable(self._fault))
