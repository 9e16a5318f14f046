"""What the sandbox's tests share: jobs, waiting for a condition, and finding a pool's processes."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from soliloquy.v1.sandbox_pb2 import STATUS_OK, Execution, Job, Value

from services.executor.pool import SandboxPool

# In CI a missing runsc is a failure, not a reason to skip.
needs_runsc = pytest.mark.skipif(
    shutil.which("runsc") is None and os.environ.get("CI") != "true",
    reason="gVisor is missing: run services/executor/install-runsc.sh",
)

ORDINARY = """import math
tutor_v0 = 12.5
tutor_angle = math.radians(30)
tutor_range = tutor_v0**2 * math.sin(2 * tutor_angle) / 9.8
student_range = 13.8
is_student_correct = math.isclose(tutor_range, student_range, rel_tol=0.01)
"""


def job(code: str, *names: str) -> Job:
    return Job(id="a-job", code=code, result_variables=names)


async def value_of(pool: SandboxPool, code: str, name: str = "x") -> Value:
    done = await pool.execute(job(code, name))
    assert done.status == STATUS_OK, done
    return done.values[0].value


async def assert_ordinary_job_is_right(pool: SandboxPool) -> Execution:
    done = await pool.execute(job(ORDINARY, "tutor_range", "is_student_correct"))
    assert done.status == STATUS_OK, done
    assert done.values[0].value.real == pytest.approx(13.8078, abs=1e-4)
    assert done.values[1].value.boolean is True
    return done


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        await asyncio.sleep(0.01)


def runsc_pids(runtime_dir: Path) -> list[int]:
    """Every process, runsc's own helpers included, that was started for a pool of this folder."""
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
