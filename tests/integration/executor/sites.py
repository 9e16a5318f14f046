"""Single sandboxes of a launcher that a test opens."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from soliloquy.v1.sandbox_pb2 import STATUS_OK, Execution, Job
from soliloquy_services.executor.guest.vet import VetResult
from soliloquy_services.executor.launcher import SandboxLauncher, open_launcher
from soliloquy_services.executor.policy import MATH, SandboxSettings
from soliloquy_services.executor.sandbox import WarmSandbox
from soliloquy_services.executor.submission import Submission

# Some jobs here walk whole trees, which takes gVisor on ptrace its time; the CPU limit goes by the wall limit.
_WALL_SECONDS = 30.0

_USES = {
    "math": "import math, os\nx = math.hypot(3, 4)",
    "numpy": "import numpy\nx = float(numpy.linalg.solve(numpy.eye(3) / 5, numpy.ones(3))[2])",
    "sympy": "import sympy, mpmath\nt = sympy.symbols('t')\nx = float(sympy.integrate(t, (t, 0, sympy.sqrt(10))))",
}


@asynccontextmanager
async def opened(runtime_dir: Path, **settings: Any) -> AsyncIterator[SandboxLauncher]:
    site = await open_launcher(SandboxSettings(runtime_dir=runtime_dir, wall_seconds=_WALL_SECONDS, **settings))
    try:
        yield site
    finally:
        site.folder.remove()


@asynccontextmanager
async def booted(site: SandboxLauncher, kind: str = MATH) -> AsyncIterator[WarmSandbox]:
    sandbox = await site.boot(kind)
    try:
        yield sandbox
    finally:
        await sandbox.close()


async def run(sandbox: WarmSandbox, code: str, *names: str) -> Execution:
    job = Submission.from_job(Job(code=code, result_variables=names), SandboxSettings(wall_seconds=_WALL_SECONDS))
    return await sandbox.run(job, VetResult(refused=""))


async def assert_sound(sandbox: WarmSandbox, kind: str = MATH) -> None:
    done = await run(sandbox, _USES[kind], "x")
    assert done.status == STATUS_OK, done
    assert done.values[0].value.real == pytest.approx(5)
