"""What sandboxes cost to boot and to keep, and how soon a job and a sandbox that fail are out of the way."""

import asyncio
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.executor import processes
from benchmarks.executor.mixes import WrongResult, endless, mixes
from benchmarks.executor.runners import in_pool, lane_of
from benchmarks.runtime.figures import spread
from services.executor.pool import SandboxPool
from services.executor.settings import SandboxSettings
from soliloquy.v1.sandbox_pb2 import LANE_FORK, STATUS_TIMEOUT, Job, Limits, Status

_BOOTS = 5
_KILLED_JOBS = 10
_RESPAWNS = 5
_WALL_SECONDS = 0.25
# Rounds of all snippets before a sandbox's memory counts as what it is to keep.
_WORN_IN = 20
# For the pool to see that a sandbox is gone: a job sent at once would be answered by one of its own.
_SEEN_SECONDS = 0.03


@asynccontextmanager
async def running(*, sandboxes: int, spares: int) -> AsyncIterator[tuple[SandboxPool, Path]]:
    """A pool, and the folder by which its processes are known."""
    with tempfile.TemporaryDirectory() as folder:
        pool = SandboxPool(SandboxSettings(sandboxes=sandboxes, spares=spares, runtime_dir=Path(folder)))
        await pool.start()
        try:
            yield pool, Path(folder)
        finally:
            await pool.stop()


async def lifecycle(tell: Callable[[str], None]) -> dict[str, Any]:
    """Of a pool with one sandbox a lane."""
    tell("boot to ready")
    boots = [await _boot() for _ in range(_BOOTS)]
    async with running(sandboxes=1, spares=0) as (pool, folder):
        tell("memory")
        pss = await _memory(pool, folder)
        tell("kills at the wall limit")
        overshoot = {
            lane: [await _overshoot(pool, lane, code) for _ in range(_KILLED_JOBS)] for lane, code in endless().items()
        }
        tell("respawn")
        respawns = [await _respawn(pool, folder, number) for number in range(_RESPAWNS)]
    return {
        "boot_seconds": spread(boots),
        "pss_mib": spread(pss),
        "overshoot_ms": {lane: spread(values) for lane, values in overshoot.items()},
        "respawn_seconds": spread(respawns),
    }


async def _boot() -> float:
    started = time.perf_counter()
    async with running(sandboxes=1, spares=0):
        return time.perf_counter() - started


async def _memory(pool: SandboxPool, folder: Path) -> list[float]:
    """Of each sandbox, once it has run what jobs usually are."""
    run = in_pool(pool, Counter())
    for snippet in mixes()["published"].snippets * _WORN_IN:
        await run(snippet)
    return [processes.pss_mib(family) for family in processes.families(folder).values()]


async def _overshoot(pool: SandboxPool, lane: str, code: str) -> float:
    """From the wall limit to the answer; in a sandbox of its own, which boots and ends with the job, to the kill."""
    alone = lane == "single-use"
    sent = time.perf_counter()
    done = await pool.execute(Job(code=code, limits=Limits(wall_seconds=_WALL_SECONDS), single_use=alone))
    answered = time.perf_counter() - sent
    if done.status != STATUS_TIMEOUT or lane_of(done) != lane:
        ended = f"{Status.Name(done.status)} in the {lane_of(done)} lane: {done.error}"
        raise WrongResult(f"an endless loop for the {lane} lane ended with {ended}")
    return ((done.seconds if alone else answered) - _WALL_SECONDS) * 1000


async def _respawn(pool: SandboxPool, folder: Path, number: int) -> float:
    """Until a job is answered that needs both of the pool's sandboxes: one looks at it, the other forks for it."""
    families = processes.families(folder)
    victim = families[sorted(families)[number % len(families)]]
    killed = time.perf_counter()
    for pid in victim:
        os.kill(pid, signal.SIGKILL)
    await asyncio.sleep(_SEEN_SECONDS)
    while (await pool.execute(Job(code="import os"))).lane != LANE_FORK:
        pass
    return time.perf_counter() - killed
