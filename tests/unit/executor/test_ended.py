"""A sandbox whose runsc has exited reports it, also on uvloop."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from soliloquy.v1.sandbox_pb2 import Job
from soliloquy_services.executor.gvisor import container
from soliloquy_services.executor.gvisor.container import ContainerSpec
from soliloquy_services.executor.policy import SandboxSettings
from soliloquy_services.executor.sandbox import SandboxDied, WarmSandbox
from soliloquy_services.executor.submission import Submission

Run = Callable[[Coroutine[Any, Any, None]], None]


async def ended(folder: Path) -> WarmSandbox:
    plan = ContainerSpec(command=["false"], folder=folder, config="{}", cgroup=None, isolation="", runsc_version="")
    running = await container.start(plan)
    await running.ended()
    return WarmSandbox(running)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_one_that_has_ended_cannot_be_greeted_and_a_job_for_it_finds_it_dead(run: Run, tmp_path: Path) -> None:
    job = Submission.from_job(Job(id="a", code="x = 1", result_variables=["x"]), SandboxSettings())

    async def ask() -> None:
        greeted, asked = await ended(tmp_path / "greeted"), await ended(tmp_path / "asked")
        with pytest.raises((OSError, asyncio.IncompleteReadError)):
            await greeted.greet(b"{}")
        greeted.become_vetted()
        with pytest.raises(SandboxDied):
            await asked.vet(job)
        assert not asked.usable
        for sandbox in (greeted, asked):
            await sandbox.close()

    run(ask())
