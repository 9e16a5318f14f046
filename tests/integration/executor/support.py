"""Helpers of the sandbox tests: jobs, waiting for a condition, finding a pool's processes."""

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from soliloquy.v1.sandbox_pb2 import LANE_FAST, STATUS_OK, Execution, Job, Lane, Limits, Value
from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy_services.executor.policy import SandboxSettings
from soliloquy_services.executor.pool import SandboxPool
from tests.waiting import PATIENCE_SECONDS, until

# In CI a missing runsc is a failure, not a reason to skip.
needs_runsc = pytest.mark.skipif(
    shutil.which("runsc") is None and os.environ.get("CI") != "true",
    reason="gVisor is missing: run services/executor/gvisor/install-runsc.sh",
)

ORDINARY = """import math
tutor_v0 = 12.5
tutor_angle = math.radians(30)
tutor_range = tutor_v0**2 * math.sin(2 * tutor_angle) / 9.8
student_range = 13.8
is_student_correct = math.isclose(tutor_range, student_range, rel_tol=0.01)
"""


ENDLESS = "x = sum(1 for n in range(10 ** 12))"


def job(code: str, *names: str, single_use: bool = False, limits: Limits | None = None) -> Job:
    return Job(id="a-job", code=code, result_variables=names, single_use=single_use, limits=limits)


async def value_of(pool: SandboxPool, code: str, name: str = "x") -> Value:
    done = await pool.execute(job(code, name))
    assert done.status == STATUS_OK, done
    return done.values[0].value


async def assert_ordinary_job_is_right(pool: SandboxPool, *, lane: Lane = LANE_FAST) -> Execution:
    done = await _ordinary_job(pool, lane)
    assert Lane.Name(done.lane) == Lane.Name(lane), done
    return done


async def assert_soon_right(pool: SandboxPool, *, lane: Lane = LANE_FAST) -> None:
    """Waits for a pool whose sandboxes were killed, and which may refuse jobs until new ones boot."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with contextlib.suppress(SandboxUnavailable):
                await _ordinary_job(pool, lane)
                return
            await asyncio.sleep(0.05)


async def _ordinary_job(pool: SandboxPool, lane: Lane) -> Execution:
    """Any code that imports more than math takes the fork lane."""
    code = ORDINARY if lane == LANE_FAST else f"import os\n{ORDINARY}"
    done = await pool.execute(job(code, "tutor_range", "is_student_correct"))
    assert done.status == STATUS_OK, done
    assert done.values[0].value.real == pytest.approx(13.8078, abs=1e-4)
    assert done.values[1].value.boolean is True
    return done


class Runsc:
    """The real runsc on its own PATH, behind lines of a shell that may keep it from being called."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._first = first = folder / "first"
        script = folder / "bin" / "runsc"
        script.parent.mkdir()
        script.write_text(f'#!/bin/sh\n[ -e {first} ] && . {first}\nexec {shutil.which("runsc")} $more "$@"\n')
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)

    def does_first(self, lines: str) -> None:
        """The lines may set further arguments as `more`."""
        self._first.write_text(f"{lines}\n")

    def break_down(self) -> None:
        self.does_first("echo out of order >&2; exit 1")

    def repair(self) -> None:
        self._first.unlink()


@asynccontextmanager
async def started(runtime_dir: Path, **settings: Any) -> AsyncIterator[SandboxPool]:
    """Runs a pool with one sandbox per lane, unless the settings say otherwise."""
    async with SandboxPool(SandboxSettings(**{"sandboxes": 1, "runtime_dir": runtime_dir, **settings})) as pool:
        yield pool


async def until_in_a_sandbox(pool: SandboxPool, lane: str) -> None:
    await until(lambda: pool.busy[lane] > 0)


def kill_all(runtime_dir: Path) -> None:
    for pid in runsc_pids(runtime_dir):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def runsc_pids(runtime_dir: Path) -> list[int]:
    """Lists every process that a pool of this folder has started, including runsc's helpers."""
    mark = f"{runtime_dir}/".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"runsc" in command and mark in command:
            found.append(int(process.name))
    return sorted(found)
