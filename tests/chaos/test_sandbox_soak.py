"""Runs thousands of jobs, one in twenty hostile: no wrong result, nothing left behind, no growth of memory."""

import asyncio
import itertools
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks import processes
from benchmarks.sandbox_jobs import Snippet, WrongResult, mixes
from soliloquy.v1.sandbox_pb2 import Execution, Job, Lane, Limits, Status
from soliloquy_services.executor.pool import SandboxPool
from tests.integration.executor.hostile import BYPASSES, HOSTILE, LEGACIES
from tests.integration.executor.leftovers import leftovers
from tests.integration.executor.support import needs_runsc, started

# A tenth of them is done quickly.
JOBS = int(os.environ.get("SOAK_JOBS", "10000"))
# Jobs of each kind per block of a hundred.
HOSTILE_JOBS, SINGLE_USE_JOBS, SCIENCE_JOBS = 5, 1, 1
HOSTILE_WALL_SECONDS = 0.5
# An honest job ends within this on a busy machine too.
WALL_SECONDS = 20.0
CALLERS = 16
SAMPLES = 40
GROWTH = 1.1

HOSTILE_CODE = [deed.code for deed in (HOSTILE | BYPASSES).values()] + [legacy.left for legacy in LEGACIES.values()]

Check = Callable[[Execution], None]


@needs_runsc
@pytest.mark.timeout(3600)
async def test_thousands_of_jobs_hostile_ones_among_them_leave_the_pool_as_it_was(tmp_path: Path) -> None:
    # Processes that a sandbox leaves running become children of this process.
    processes.adopt_orphans()
    descriptors, began = _descriptors(), time.monotonic()
    async with started(tmp_path, sandboxes=len(os.sched_getaffinity(0)), wall_seconds=WALL_SECONDS) as pool:
        # Memory counts once every kind of sandbox has booted.
        await asyncio.gather(*(pool.execute(snippet.job) for snippet in mixes()["science"].snippets * 2))
        soak = Soak(pool, tmp_path)
        await asyncio.gather(*(soak.call() for _ in range(CALLERS)))
    print(f"\n{JOBS} jobs in {time.monotonic() - began:.0f} s\n{soak.summary()}")
    assert soak.ended.total() == JOBS
    assert soak.wrong == []
    assert living_children() == []
    assert leftovers(tmp_path) == []
    assert _descriptors() == descriptors
    for memory in (soak.host_mib, soak.sandboxes_mib):
        second, last = quarters(memory)
        assert last <= second * GROWTH


class Soak:
    def __init__(self, pool: SandboxPool, folder: Path) -> None:
        self.wrong: list[str] = []
        self.ended = Counter[str]()
        self.host_mib: list[float] = []
        self.sandboxes_mib: list[float] = []
        self._pool = pool
        self._folder = folder
        self._jobs = enumerate(itertools.islice(jobs(seed=17), JOBS))

    async def call(self) -> None:
        for number, (kind, job, check) in self._jobs:
            if number % (JOBS // SAMPLES) == 0:
                self._sample()
            done = await self._pool.execute(job)
            self.ended[f"{kind}, {Lane.Name(done.lane)}, {Status.Name(done.status)}"] += 1
            try:
                check(done)
            except WrongResult as error:
                self.wrong.append(f"job {number}: {error}")

    def summary(self) -> str:
        lines = [f"{count:>7} {how}" for how, count in sorted(self.ended.items())]
        for name, memory in (("host", self.host_mib), ("sandboxes", self.sandboxes_mib)):
            second, last = quarters(memory)
            lines.append(f"{name}: {second:.1f} MiB in the second quarter, {last:.1f} MiB in the last")
        return "\n".join(lines)

    def _sample(self) -> None:
        """Averages over the sandboxes, since the number of single-use ones varies."""
        families = processes.sandbox_families(self._folder).values()
        self.host_mib.append(processes.own_resident_mib())
        self.sandboxes_mib.append(statistics.fmean(map(processes.pss_mib, families)))


def jobs(seed: int) -> Iterator[tuple[str, Job, Check]]:
    """Yields jobs without end; each block of a hundred holds the exact shares, in an order drawn from the seed."""
    draws = random.Random(seed)
    ordinary, alone, science = (mixes()[name].in_order(seed) for name in ("published", "single-use", "science"))
    hostile = itertools.cycle(draws.sample(HOSTILE_CODE, len(HOSTILE_CODE)))
    while True:
        block = [_hostile(next(hostile)) for _ in range(HOSTILE_JOBS)]
        block += [_known("single-use", next(alone)) for _ in range(SINGLE_USE_JOBS)]
        block += [_known("science", next(science)) for _ in range(SCIENCE_JOBS)]
        block += [_known("ordinary", next(ordinary)) for _ in range(100 - len(block))]
        draws.shuffle(block)
        yield from block


def quarters(samples: list[float]) -> tuple[float, float]:
    """Returns the medians of the second and of the last block."""
    size = len(samples) // 4
    return statistics.median(samples[size : 2 * size]), statistics.median(samples[-size:])


def living_children() -> list[str]:
    """Returns the stat of all living descendants; unreaped dead ones do not count."""
    children = " ".join(path.read_text("ascii") for path in Path("/proc/self/task").glob("*/children")).split()
    stats = [Path(f"/proc/{pid}/stat").read_text("ascii") for pid in children]
    return [stat for stat in stats if stat.rpartition(")")[2].split()[0] != "Z"]


def _hostile(code: str) -> tuple[str, Job, Check]:
    return "hostile", Job(code=code, limits=Limits(wall_seconds=HOSTILE_WALL_SECONDS)), lambda _: None


def _known(kind: str, snippet: Snippet) -> tuple[str, Job, Check]:
    return kind, snippet.job, snippet.check


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
