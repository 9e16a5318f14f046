"""One gVisor container: its runsc, the two pipes to its zygote, and all that goes when it does."""

import asyncio
import contextlib
import logging
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from services.executor.gvisor import cgroups, folder
from services.executor.gvisor.cgroups import Cgroup
from services.executor.gvisor.runsc import SandboxUnavailable

_log = logging.getLogger(__name__)

_GRACE_SECONDS = 0.4
_LOG = "log"


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerSpec:
    """What to start, and what it leaves."""

    command: list[str]
    # Made for it: the bundle, runsc's state and its log.
    folder: Path
    config: str
    cgroup: Cgroup | None
    isolation: str
    runsc_version: str

    def clear(self) -> None:
        try:
            if self.cgroup:
                cgroups.remove(self.cgroup.folders)
            folder.clear(self.folder)
        except OSError as error:
            _log.warning("something of %s is left until its pool ends: %s", self.folder, error)


class Container:
    """What `start` started must be ended with `close`."""

    def __init__(self, plan: ContainerSpec, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.pid = process.pid
        self.isolation = plan.isolation
        self.runsc_version = plan.runsc_version
        self._plan = plan
        self._process = process
        self.last_words = ""

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def ended(self) -> None:
        await self._process.wait()

    def write(self, data: bytes) -> None:
        """To its input; OSError where it has ended."""
        try:
            self.stdin.write(data)
        except RuntimeError as error:
            # Under uvloop: asyncio's own loop says so at the drain.
            raise BrokenPipeError(f"it has ended: {error}") from error

    async def close(self, *, at_once: bool) -> None:
        """Ends it, by the end of its input unless that would wait for a job, and leaves nothing of it behind."""
        self.stdin.close()
        if self.alive and (at_once or not await self._ends_soon()):
            # Its children first, so that runsc itself can reap them and take its state away.
            for pid in _children(self.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not await self._ends_soon():
                self._process.kill()
                await self._process.wait()
        if self._plan.folder.exists():
            said = (self._plan.folder / _LOG).read_text("utf-8", "replace").split("\n")
            self.last_words = next(filter(str.strip, reversed(said)), "")[-300:]
            await asyncio.to_thread(self._plan.clear)

    async def _ends_soon(self) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await self._process.wait()
        return not self.alive


async def start(plan: ContainerSpec) -> Container:
    try:
        plan.folder.mkdir()
        (plan.folder / "config.json").write_text(plan.config, "utf-8")
        with (plan.folder / _LOG).open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *plan.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                cwd=plan.folder,
                env={},
            )
    except OSError as error:
        plan.clear()
        raise SandboxUnavailable(f"{plan.command[0]} cannot be started: {error}") from error
    except BaseException:
        plan.clear()
        raise
    return Container(plan, process)


def _children(pid: int) -> list[int]:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return [
            int(child) for thread in Path(f"/proc/{pid}/task").iterdir() for child in _read_pids(thread / "children")
        ]
    return []


def _read_pids(listing: Path) -> list[str]:
    return listing.read_text("ascii").split()
