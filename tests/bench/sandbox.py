"""How many jobs a second the fork lane runs, how long one takes, and what a sandbox costs to keep."""

import asyncio
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from soliloquy.v1.sandbox_pb2 import STATUS_OK, Job

from services.executor.pool import SandboxPool
from services.executor.settings import SandboxSettings

_JOB = Job(
    id="bench",
    code="""import math
speed = 12.5
angle = math.radians(30)
distance = speed**2 * math.sin(2 * angle) / 9.8
student_distance = 13.8
is_student_correct = math.isclose(distance, student_distance, rel_tol=0.01)
""",
    result_variables=["distance", "is_student_correct"],
)
_PAUSE_SECONDS = 0.1


async def measure(seconds: float = 20.0) -> dict[str, float]:
    """Back to back with one sandbox and with two, then one job at a time with pauses between."""
    return await _measure(1, seconds) | await _measure(2, seconds)


async def _measure(sandboxes: int, seconds: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        pool = SandboxPool(SandboxSettings(sandboxes=sandboxes, recycle_after=10**9, runtime_dir=Path(folder)))
        await pool.start()
        boot_ms = (time.perf_counter() - started) * 1000
        try:
            busy = await asyncio.gather(*[_back_to_back(pool, seconds / 2) for _ in range(sandboxes)])
            jobs = sorted(ms for one in busy for ms in one)
            paced = sorted(await _paced(pool, seconds / 2))
            pss_mib = _pss_mib(Path(folder)) / sandboxes
        finally:
            await pool.stop()
    return {
        f"jobs_per_s_{sandboxes}": len(jobs) / (seconds / 2),
        f"p50_ms_{sandboxes}": _quantile(jobs, 0.5),
        f"p99_ms_{sandboxes}": _quantile(jobs, 0.99),
        f"paced_p50_ms_{sandboxes}": _quantile(paced, 0.5),
        f"paced_p99_ms_{sandboxes}": _quantile(paced, 0.99),
        f"boot_ms_{sandboxes}": boot_ms,
        f"pss_mib_{sandboxes}": pss_mib,
    }


async def _back_to_back(pool: SandboxPool, seconds: float) -> list[float]:
    ends = time.perf_counter() + seconds
    taken = []
    while time.perf_counter() < ends:
        taken.append(await _timed(pool))
    return taken


async def _paced(pool: SandboxPool, seconds: float) -> list[float]:
    taken = []
    for _ in range(max(1, int(seconds / _PAUSE_SECONDS))):
        await asyncio.sleep(_PAUSE_SECONDS)
        taken.append(await _timed(pool))
    return taken


async def _timed(pool: SandboxPool) -> float:
    started = time.perf_counter()
    done = await pool.execute(_JOB)
    if done.status != STATUS_OK:
        raise RuntimeError(f"the benchmark's job failed: {done.error}")
    return (time.perf_counter() - started) * 1000


def _quantile(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def _pss_mib(runtime_dir: Path) -> float:
    """Proportional memory of every process that runs for the folder, the guest's own included."""
    total = 0
    for process in _family(runtime_dir):
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
        total += sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return total / 1024


def _family(runtime_dir: Path) -> list[str]:
    """runsc's processes, and what they trace: the guest's processes, which carry no command line."""
    mark = f"{runtime_dir}/".encode()
    parents = {
        path.parent.name: path.read_text("ascii", "replace").rpartition(")")[2].split()[1]
        for path in Path("/proc").glob("[0-9]*/stat")
    }
    family = {pid for pid in parents if mark in Path(f"/proc/{pid}/cmdline").read_bytes()}
    while children := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= children
    return sorted(family)


def main() -> None:
    figures = asyncio.run(measure())
    table = Table("sandboxes", "jobs/s", "p50 ms", "p99 ms", "paced p50", "paced p99", "start ms", "PSS MiB each")
    names = ("jobs_per_s", "p50_ms", "p99_ms", "paced_p50_ms", "paced_p99_ms", "boot_ms", "pss_mib")
    for sandboxes in (1, 2):
        table.add_row(str(sandboxes), *[f"{figures[f'{name}_{sandboxes}']:.1f}" for name in names])
    Console().print(table)


if __name__ == "__main__":
    main()
