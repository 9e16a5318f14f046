"""One warm sandbox: a container whose zygote takes jobs on its standard input and reports on its output."""

import asyncio
import contextlib
import itertools
import json

from soliloquy.v1.sandbox_pb2 import LANE_FAST, LANE_FORK, Execution, Lane
from soliloquy_services.executor import reports
from soliloquy_services.executor.guest import wire
from soliloquy_services.executor.guest.vet import VetResult
from soliloquy_services.executor.gvisor.container import Container
from soliloquy_services.executor.policy import MAX_REPORT_BYTES
from soliloquy_services.executor.reports import JobReport
from soliloquy_services.executor.submission import Submission

# How long past its wall limit a job's report may take before the sandbox counts as dead.
_WATCHDOG_SECONDS = 1.0


class SandboxDied(Exception):
    """The sandbox exited, hung or sent an invalid report, and cannot be used again."""


class WarmSandbox:
    """Takes one job at a time, and must be closed."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._numbers = itertools.count(1)
        self._spent = False
        self.jobs = 0
        # Proved in its self-test.
        self.proofs: list[str] = []

    @property
    def usable(self) -> bool:
        return not self._spent and self._container.alive

    async def ended(self) -> None:
        await self._container.ended()

    async def greet(self, policy: bytes) -> None:
        """Sends the zygote its policy and waits until it is ready."""
        self._container.write(wire.frame(policy))
        if await self._read_frame() != wire.READY:
            raise SandboxDied("the zygote did not report that it is ready")

    def become_vetted(self) -> None:
        """Hands the sandbox over to a vetted worker, which only understands `vet`."""
        # If the sandbox has exited, the slot that watches it boots another.
        with contextlib.suppress(OSError):
            self._container.write(wire.frame(wire.VET))

    async def vet(self, submission: Submission, *, only: bool = False) -> Execution | VetResult:
        """Vets the job, and runs it if it passes and `only` is false; raises SandboxDied if the sandbox fails."""
        request = {"code": submission.code, "names": submission.identifiers, "vet_only": only}
        report = await self._exchange(submission, request)
        if report.end in (wire.REFUSED, wire.DIED):
            try:
                return reports.vet_findings(report)
            except reports.InvalidReport as error:
                raise self._died(error) from error
        return self._signed(reports.execution(report, submission.names), LANE_FAST)

    async def run(self, submission: Submission, vetting: VetResult) -> Execution:
        """Runs the job in its own child process; raises SandboxDied if the sandbox, not the job, is at fault."""
        evidence = sorted({side for v in vetting.verdicts for side in (v.left, v.right) if isinstance(side, str)})
        report = await self._exchange(
            submission, {"code": submission.code, "names": submission.identifiers, "evidence": evidence}
        )
        return self._signed(reports.execution(report, submission.names, vetting.verdicts), LANE_FORK)

    async def close(self) -> None:
        await self._container.close(at_once=self._spent)

    async def _exchange(self, submission: Submission, request: dict[str, object]) -> JobReport:
        self.jobs += 1
        number = next(self._numbers)
        header = wire.JOB.pack(number, submission.wall_seconds, submission.memory_bytes, submission.stdout_bytes)
        try:
            async with asyncio.timeout(submission.wall_seconds + _WATCHDOG_SECONDS):
                self._container.write(wire.frame(header + json.dumps(request).encode()))
                await self._container.stdin.drain()
                report = reports.parse(await self._read_frame())
            if report.number != number:
                raise reports.InvalidReport(f"a report on job {report.number} in answer to job {number}")
        except (TimeoutError, OSError, asyncio.IncompleteReadError, reports.InvalidReport) as error:
            raise self._died(error) from error
        except BaseException:
            # The report of a cancelled job is still on its way, and the next job must not get it.
            self._spent = True
            raise
        self._spent = report.spent
        return report

    async def _read_frame(self) -> bytes:
        size = wire.LENGTH.unpack(await self._container.stdout.readexactly(wire.LENGTH.size))[0]
        if size > MAX_REPORT_BYTES:
            raise reports.InvalidReport(f"a report of {size} bytes")
        return await self._container.stdout.readexactly(size)

    def _died(self, error: Exception) -> SandboxDied:
        self._spent = True
        return SandboxDied(f"{type(error).__name__}: {error}")

    def _signed(self, done: Execution, lane: Lane) -> Execution:
        done.lane = lane
        done.isolation = self._container.spec.isolation
        done.runsc_version = self._container.spec.runsc_version
        return done
