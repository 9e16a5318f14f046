"""One warm sandbox: a gVisor that runs the zygote, spoken to over its standard input and output."""

import asyncio
import contextlib
import json
import os
import signal
from pathlib import Path

from soliloquy.v1.sandbox_pb2 import LANE_FORK, Execution, Job

from services.executor import reports
from services.executor.guest import wire
from services.executor.policy import MAX_REPORT_BYTES, guest_policy
from services.executor.runsc import Runsc, SandboxUnavailable
from services.executor.settings import SandboxSettings

# How long past its wall limit a job's report may take before the sandbox counts as dead.
_WATCHDOG_SECONDS = 1.0
_GRACE_SECONDS = 0.4


class SandboxDied(Exception):
    """The sandbox ended, fell silent or talked nonsense; it cannot be used again."""


class Sandbox:
    """Runs one job at a time; what it started with `boot` must be ended with `close`."""

    def __init__(
        self, *, process: asyncio.subprocess.Process, platform: str, runsc: Runsc, wall_seconds: float
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._patience = wall_seconds + _WATCHDOG_SECONDS
        self._isolation = f"gvisor-{platform}"
        self._runsc_version = runsc.version
        self._spent = False
        self.jobs = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def usable(self) -> bool:
        return not self._spent and self._process.returncode is None

    async def ended(self) -> None:
        await self._process.wait()

    async def execute(self, job: Job) -> Execution:
        """Raises SandboxDied where the sandbox, not the job, is at fault."""
        self.jobs += 1
        names = list(job.result_variables)
        told = json.dumps({"code": job.code, "result_variables": names}).encode()
        try:
            async with asyncio.timeout(self._patience):
                self._stdin.write(wire.frame(told))
                await self._stdin.drain()
                report = reports.parse(await self._read_frame())
        except (TimeoutError, OSError, asyncio.IncompleteReadError, reports.BadReport) as error:
            self._spent = True
            raise SandboxDied(f"{type(error).__name__}: {error}") from error
        except BaseException:
            # A caller that gave up leaves a report on the way, which the next job must not get.
            self._spent = True
            raise
        self._spent = report.spent
        done = reports.execution(report, names)
        done.lane = LANE_FORK
        done.isolation = self._isolation
        done.runsc_version = self._runsc_version
        return done

    async def close(self) -> None:
        """Ends the sandbox: by the end of its input where it listens, else by killing it."""
        self._stdin.close()
        if self._process.returncode is not None:
            return
        if self._spent or not await self._ends_soon():
            # Its children first, so that runsc itself can reap them and take its state away.
            for pid in _children(self.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not await self._ends_soon():
                self._process.kill()
                await self._process.wait()

    async def greet(self, policy: bytes) -> None:
        self._stdin.write(wire.frame(policy))
        if await self._read_frame() != wire.READY:
            raise SandboxDied("the zygote did not say that it is ready")

    async def _read_frame(self) -> bytes:
        size = wire.LENGTH.unpack(await self._stdout.readexactly(wire.LENGTH.size))[0]
        if size > MAX_REPORT_BYTES:
            raise reports.BadReport(f"a report of {size} bytes")
        return await self._stdout.readexactly(size)

    async def _ends_soon(self) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await self._process.wait()
        return self._process.returncode is not None


def _children(pid: int) -> list[int]:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return [
            int(child) for thread in Path(f"/proc/{pid}/task").iterdir() for child in _read_pids(thread / "children")
        ]
    return []


def _read_pids(listing: Path) -> list[str]:
    return listing.read_text("ascii").split()


async def boot(
    name: str, *, runsc: Runsc, platform: str, bundle: Path, folder: Path, settings: SandboxSettings
) -> Sandbox:
    """A sandbox whose zygote is ready; SandboxUnavailable with what runsc said where it does not come up."""
    log = folder / f"{name}.log"
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *runsc.command(platform=platform, root=folder / "state", bundle=bundle, name=name),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            cwd=folder,
            env={},
        )
    sandbox = Sandbox(process=process, platform=platform, runsc=runsc, wall_seconds=settings.wall_seconds)
    try:
        async with asyncio.timeout(settings.boot_seconds):
            await sandbox.greet(guest_policy(settings))
    except (TimeoutError, OSError, asyncio.IncompleteReadError, reports.BadReport, SandboxDied) as error:
        await sandbox.close()
        said = log.read_text("utf-8", "replace").strip().splitlines()
        why = said[-1][-300:] if said else f"{type(error).__name__} {error}".strip()
        raise SandboxUnavailable(f"no sandbox boots with {runsc.path} ({platform}): {why}") from error
    except BaseException:
        await sandbox.close()
        raise
    return sandbox
