"""The pool that runs all jobs: the vet decides between the fast lane and a fork lane."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Self, TypeVar

from soliloquy.runtime.traces import spans
from soliloquy.v1.sandbox_pb2 import LANE_SINGLE_USE, STATUS_SANDBOX_DIED, Execution, Job
from soliloquy_services.executor import metrics
from soliloquy_services.executor.guest.vet import VetResult
from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy_services.executor.lane import Busy, SandboxLane, ShieldedTasks
from soliloquy_services.executor.launcher import SandboxLauncher, open_launcher
from soliloquy_services.executor.policy import KINDS, MATH, SandboxSettings, kind_for
from soliloquy_services.executor.sandbox import SandboxDied, WarmSandbox
from soliloquy_services.executor.submission import LimitExceeded, Submission

_log = logging.getLogger(__name__)

T = TypeVar("T")


class SingleUsePool:
    """Boots a sandbox for each job."""

    def __init__(
        self,
        boot: Callable[[str], Awaitable[WarmSandbox]],
        tasks: ShieldedTasks,
        *,
        at_once: int,
        max_waiting: int,
    ) -> None:
        self._boot = boot
        self._tasks = tasks
        self._places = asyncio.Semaphore(at_once)
        self._max_waiting = max_waiting
        self._waiting = 0
        self.busy = 0
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

    async def stop(self) -> None:
        await asyncio.gather(*self._closing)

    async def _use(self, kind: str, work: Callable[[WarmSandbox], Awaitable[T]]) -> T:
        try:
            sandbox = await self._boot(kind)
            self.busy += 1
            try:
                return await work(sandbox)
            finally:
                self.busy -= 1
                # The answer does not wait for the sandbox to close.
                self._closing.add(closing := asyncio.create_task(sandbox.close()))
                closing.add_done_callback(self._closing.discard)
        finally:
            self._places.release()


# Only a job that kills its sandbox every time has died of itself, and not of the machine.
_TRIES_ALONE = 3

_REASONS = {LimitExceeded: "limit", Busy: "busy", SandboxUnavailable: "unavailable"}


class SandboxPool:
    """Runs jobs in gVisor or not at all: without a working sandbox they fail with SandboxUnavailable."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._launcher: SandboxLauncher | None = None
        self._tasks = ShieldedTasks()
        self._vetted = self._lane(self._boot_vetted, settings.recycle_vetted_after)
        self._forks = {kind: self._lane(partial(self._boot, kind), settings.recycle_after) for kind in KINDS}
        self._single_use = SingleUsePool(
            self._boot, self._tasks, at_once=settings.sandboxes, max_waiting=settings.max_waiting
        )

    @property
    def fault(self) -> str | None:
        """Why no job can run; None if jobs can."""
        if self._launcher is None:
            return "the sandbox pool is not running"
        # Only the fork lane without packages counts: the others may need packages that are not installed.
        return self._vetted.fault or (self._forks[MATH].fault if self._forks[MATH].begun else None)

    @property
    def busy(self) -> dict[str, int]:
        """The number of jobs that are in a sandbox, by lane."""
        forked = sum(lane.busy for lane in self._forks.values())
        return {"fast": self._vetted.busy, "fork": forked, "single-use": self._single_use.busy}

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Returns when the fast lane can run jobs; the other lanes boot on their first job."""
        self._launcher = await open_launcher(self._settings)
        self._vetted.start()
        try:
            await self._vetted.ready()
        except BaseException:
            await self.stop()
            raise
        metrics.READY.set_function(lambda: float(self.fault is None))
        for name in self.busy:
            metrics.BUSY.labels(name).set_function(partial(lambda lane: self.busy[lane], name))

    async def execute(self, job: Job) -> Execution:
        """Returns the job's outcome, whatever its code does; waits for a free sandbox.

        Raises LimitExceeded if the job asks for more than it may have, and Busy if too many jobs wait.
        """
        with spans.child("sandbox job", job=job.id):
            try:
                done = await self._run(Submission.from_job(job, self._settings))
            except (LimitExceeded, Busy, SandboxUnavailable) as refusal:
                metrics.REFUSED.labels(_REASONS[type(refusal)]).inc()
                raise
            metrics.done(done)
            return done

    async def stop(self) -> None:
        """Ends every sandbox and removes all it left; unanswered jobs fail with SandboxUnavailable."""
        launcher, self._launcher = self._launcher, None
        if launcher is None:
            return
        await self._tasks.stop()
        await asyncio.gather(*(lane.stop() for lane in (self._vetted, *self._forks.values())), self._single_use.stop())
        await asyncio.to_thread(launcher.folder.remove)

    async def _run(self, submission: Submission) -> Execution:
        if done := submission.rejection():
            return done
        submitted = time.monotonic()
        done = await (self._run_alone(submission) if submission.single_use else self._run_pooled(submission))
        done.waited_seconds = max(0.0, time.monotonic() - submitted - done.seconds)
        return done

    async def _run_pooled(self, submission: Submission) -> Execution:
        try:
            vetted = await self._vetted.run(lambda sandbox: sandbox.vet(submission))
            if isinstance(vetted, Execution):
                return vetted
            lane = self._forks[kind_for(vetted.imports)]
            lane.start()
            return await lane.run(lambda sandbox: sandbox.run(submission, vetted))
        except SandboxDied as death:
            metrics.DEATHS.inc()
            _log.warning("a sandbox died on job %s, which is retried in a sandbox of its own: %s", submission.id, death)
            return await self._run_alone(submission)

    async def _run_alone(self, submission: Submission) -> Execution:
        """Runs the job in a sandbox that no other job uses."""
        findings = await self._inspect(submission)
        for _ in range(_TRIES_ALONE):
            try:
                done = await self._single_use.run(
                    kind_for(findings.imports), lambda sandbox: sandbox.run(submission, findings)
                )
            except SandboxDied as death:
                metrics.DEATHS.inc()
                _log.warning("a sandbox of its own died on job %s: %s", submission.id, death)
                done = Execution(status=STATUS_SANDBOX_DIED, error=f"the sandbox died on the job: {death}")
            else:
                break
        done.lane = LANE_SINGLE_USE
        return done

    async def _inspect(self, submission: Submission) -> VetResult:
        """Returns what the code imports and which verdicts it reaches, without running it."""
        refused = ""
        for _ in range(_TRIES_ALONE):
            try:
                vetted = await self._vetted.run(lambda sandbox: sandbox.vet(submission, only=True))
            except SandboxDied as death:
                refused = f"the sandbox died on it: {death}"
            else:
                return vetted if isinstance(vetted, VetResult) else VetResult(refused="")
        return VetResult(refused=refused)

    def _lane(self, boot: Callable[[], Awaitable[WarmSandbox]], recycle_after: int) -> SandboxLane:
        return SandboxLane(
            boot,
            self._tasks,
            slots=self._settings.sandboxes,
            recycle_after=recycle_after,
            max_waiting=self._settings.max_waiting,
        )

    async def _boot(self, kind: str) -> WarmSandbox:
        if self._launcher is None:
            raise SandboxUnavailable("the sandbox pool has stopped")
        return await self._launcher.boot(kind)

    async def _boot_vetted(self) -> WarmSandbox:
        sandbox = await self._boot(MATH)
        sandbox.become_vetted()
        return sandbox
