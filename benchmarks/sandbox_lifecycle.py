"""Boots, memory and kills of sandboxes."""

import asyncio
import contextlib
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.command import Tell
from benchmarks.figures import spread
from benchmarks.processes import pss_mib, sandbox_families
from benchmarks.sandbox_jobs import WrongResult, endless, mixes
from benchmarks.sandbox_load import in_pool, lane_of, running_pool
from soliloquy.v1.sandbox_pb2 import LANE_FORK, STATUS_SANDBOX_DIED, STATUS_TIMEOUT, Job, Limits, Status
from soliloquy_services.executor.pool import SandboxPool

_BOOTS = 5
_KILLED_JOBS = 10
_RESPAWNS = 5
_WALL_SECONDS = 0.25
# Each snippet runs this often before a sandbox's memory is measured.
_WARM_UPS = 20
# The pool needs this long to see that a sandbox is gone; it would send an earlier job to the dead one.
_DETECTION_SECONDS = 0.03


async def lifecycle(tell: Tell) -> dict[str, Any]:
    """Measures a pool with one sandbox a lane."""
    tell("boot to ready")
    boots = [await _boot() for _ in range(_BOOTS)]
    async with running_pool(sandboxes=1) as (pool, folder):
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
    async with running_pool(sandboxes=1):
        return time.perf_counter() - started


async def _memory(pool: SandboxPool, folder: Path) -> list[float]:
    """Returns the memory of each sandbox after it has run usual jobs."""
    run = in_pool(pool, Counter())
    for snippet in mixes()["published"].snippets * _WARM_UPS:
        await run(snippet)
    return [pss_mib(pids) for pids in sandbox_families(folder).values()]


async def _overshoot(pool: SandboxPool, lane: str, code: str) -> float:
    """Returns the milliseconds from the wall limit to the answer; in the single-use lane, to the kill."""
    single_use = lane == "single-use"
    sent = time.perf_counter()
    done = await pool.execute(Job(code=code, limits=Limits(wall_seconds=_WALL_SECONDS), single_use=single_use))
    answered = time.perf_counter() - sent
    if done.status == STATUS_SANDBOX_DIED:
        # The machine is so loaded that the pool's watchdog has ended the job before the guest did.
        return (answered - _WALL_SECONDS) * 1000
    if done.status != STATUS_TIMEOUT or lane_of(done) != lane:
        ended = f"{Status.Name(done.status)} in the {lane_of(done)} lane: {done.error}"
        raise WrongResult(f"an endless loop for the {lane} lane ended with {ended}")
    return ((done.seconds if single_use else answered) - _WALL_SECONDS) * 1000


async def _respawn(pool: SandboxPool, folder: Path, number: int) -> float:
    """Kills a sandbox, and returns the seconds until a job that needs both of the pool's sandboxes is answered."""
    families = sandbox_families(folder)
    victim = families[sorted(families)[number % len(families)]]
    killed = time.perf_counter()
    for pid in victim:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    await asyncio.sleep(_DETECTION_SECONDS)
    # One sandbox vets the import, and the other one forks for it.
    while (await pool.execute(Job(code="import os"))).lane != LANE_FORK:
        pass
    return time.perf_counter() - killed
