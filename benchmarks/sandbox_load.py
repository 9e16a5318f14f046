"""Runs jobs in a pool of sandboxes or in plain subprocesses: as fast as they are answered, or at random arrivals."""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import quantile
from benchmarks.sandbox_jobs import Snippet, WrongResult
from soliloquy.runtime.values import lane_name
from soliloquy.v1.sandbox_pb2 import Execution
from soliloquy_services.executor.policy import SandboxSettings
from soliloquy_services.executor.pool import SandboxPool

# Runs a snippet and checks its values.
Run = Callable[[Snippet], Awaitable[None]]

_PRINT_VALUES = "import json\nprint(json.dumps({{name: globals()[name] for name in {names}}}))"


def patient_settings(**settings: Any) -> SandboxSettings:
    """A loaded machine makes jobs and boots slow; with these limits it does not make them fail."""
    return SandboxSettings(boot_seconds=600.0, wall_seconds=600.0, max_waiting=1_000_000, **settings)


@asynccontextmanager
async def running_pool(*, sandboxes: int) -> AsyncIterator[tuple[SandboxPool, Path]]:
    """Yields a pool and its runtime folder, by which its processes are found."""
    with tempfile.TemporaryDirectory() as folder:
        pool = SandboxPool(patient_settings(sandboxes=sandboxes, runtime_dir=Path(folder)))
        await pool.start()
        try:
            yield pool, Path(folder)
        finally:
            await pool.stop()


def in_pool(pool: SandboxPool, lanes: Counter[str]) -> Run:
    """Returns what runs a snippet in the pool and counts its lane."""

    async def run(snippet: Snippet) -> None:
        done = await pool.execute(snippet.job)
        snippet.check(done)
        lanes[lane_of(done)] += 1

    return run


def lane_of(done: Execution) -> str:
    """Returns the lane as the mixes spell it."""
    return lane_name(done).replace("_", "-")


async def in_subprocess(snippet: Snippet) -> None:
    code = f"{snippet.job.code}\n{_PRINT_VALUES.format(names=list(snippet.expected))}"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, errors = await process.communicate()
    if process.returncode != 0:
        last_line = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise WrongResult(f"{snippet.name!r} ended with {process.returncode} in a subprocess: {last_line}")
    snippet.check_values(json.loads(output.splitlines()[-1]))


@dataclass(kw_only=True)
class JobLoad:
    """Latencies of the jobs that were answered in a time of load."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)

    @property
    def jobs(self) -> int:
        return len(self.latencies)

    @property
    def rate(self) -> float:
        return self.jobs / self.seconds

    def figures(self) -> dict[str, float]:
        quantiles = {f"p{part}_ms": quantile(self.latencies, part / 100) * 1000 for part in (50, 99)}
        return {"jobs": self.jobs, "jobs_per_second": self.rate} | quantiles


async def closed(run: Run, snippets: Iterator[Snippet], *, callers: int, seconds: float) -> JobLoad:
    """Runs jobs until the time is over; each caller sends its next job when the last one is answered."""
    load = JobLoad()
    started = time.perf_counter()

    async def call() -> None:
        while not load.jobs or time.perf_counter() - started < seconds:
            await _timed(run, next(snippets), load)

    await asyncio.gather(*(call() for _ in range(callers)))
    load.seconds = time.perf_counter() - started
    return load


async def paced(run: Run, snippets: Iterator[Snippet], *, rate: float, seconds: float, seed: int) -> JobLoad:
    """Runs at least one job; jobs arrive at random, independently of each other and of the answers."""
    load = JobLoad()
    draws = random.Random(seed)
    sent = []
    started = due = time.perf_counter()
    while due - started < seconds:
        await asyncio.sleep(due - time.perf_counter())
        sent.append(asyncio.create_task(_timed(run, next(snippets), load)))
        due += draws.expovariate(rate)
    await asyncio.gather(*sent)
    load.seconds = max(seconds, time.perf_counter() - started)
    return load


async def _timed(run: Run, snippet: Snippet, load: JobLoad) -> None:
    sent = time.perf_counter()
    await run(snippet)
    load.latencies.append(time.perf_counter() - sent)
