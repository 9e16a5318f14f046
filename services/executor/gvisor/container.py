"""One gVisor container: its runsc process, the pipes to its zygote, and the clean-up after it."""

import asyncio
import contextlib
import logging
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from soliloquy_services.executor.gvisor import cgroups, folder
from soliloquy_services.executor.gvisor.cgroups import Cgroup
from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable

_log = logging.getLogger(__name__)

_GRACE_SECONDS = 0.4
_LOG = "log"


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerSpec:
    """Names what to start, and what to remove afterwards."""

    command: list[str]
    # Holds the bundle, runsc's state and its log.
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
            _log.warning("cannot remove %s before its pool ends: %s", self.folder, error)


class Container:
    """A started container, which must be closed."""

    def __init__(self, spec: ContainerSpec, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.pid = process.pid
        self.spec = spec
        self._process = process
        self.last_words = ""

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def ended(self) -> None:
        await self._process.wait()

    async def ended_by_itself(self) -> int | None:
        """Returns the exit status of a runsc whose pipes have closed; None if it goes on."""
        await self._ends_soon()
        return self._process.returncode

    def write(self, data: bytes) -> None:
        """Raises OSError if the container has exited."""
        try:
            self.stdin.write(data)
        except RuntimeError as error:
            # uvloop raises it here, asyncio's own loop at the drain.
            raise BrokenPipeError(f"the container has exited: {error}") from error

    async def close(self, *, at_once: bool) -> None:
        """Closes its input and waits, or kills it if `at_once` is set, and removes all it left."""
        self.stdin.close()
        if self.alive and (at_once or not await self._ends_soon()):
            # Kill its children first, so that runsc can reap them and remove its state.
            for pid in _children(self.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not await self._ends_soon():
                self._process.kill()
                await self._process.wait()
        if self.spec.folder.exists():
            lines = (self.spec.folder / _LOG).read_text("utf-8", "replace").split("\n")
            self.last_words = next(filter(str.strip, reversed(lines)), "")[-300:]
            await asyncio.to_thread(self.spec.clear)

    async def _ends_soon(self) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await self._process.wait()
        return not self.alive


async def start(spec: ContainerSpec) -> Container:
    try:
        spec.folder.mkdir()
        (spec.folder / "config.json").write_text(spec.config, "utf-8")
        with (spec.folder / _LOG).open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *spec.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                cwd=spec.folder,
                env={},
            )
    except OSError as error:
        spec.clear()
        raise SandboxUnavailable(f"cannot start {spec.command[0]}: {error.strerror}") from error
    except BaseException:
        spec.clear()
        raise
    return Container(spec, process)


def _children(pid: int) -> list[int]:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        threads = Path(f"/proc/{pid}/task").iterdir()
        return [int(child) for thread in threads for child in (thread / "children").read_text("ascii").split()]
    return []
