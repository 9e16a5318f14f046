"""Callers that send jobs: as fast as they are answered, or at a pace of their own."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from benchmarks.executor.mixes import Snippet
from benchmarks.runtime.figures import quantile

# Runs a snippet and checks its values.
Run = Callable[[Snippet], Awaitable[None]]


@dataclass(kw_only=True)
class Stint:
    """What came of one time of load."""

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


async def closed(run: Run, snippets: Iterator[Snippet], *, callers: int, seconds: float) -> Stint:
    """Each caller sends its next job when it has the answer to the last."""
    stint = Stint()
    started = time.perf_counter()

    async def call() -> None:
        while time.perf_counter() - started < seconds:
            await _timed(run, next(snippets), stint)

    await asyncio.gather(*(call() for _ in range(callers)))
    stint.seconds = time.perf_counter() - started
    return stint


async def paced(run: Run, snippets: Iterator[Snippet], *, rate: float, seconds: float, seed: int) -> Stint:
    """Jobs arrive at random, independently of each other and of the answers; one at least."""
    stint = Stint()
    draws = random.Random(seed)
    sent = []
    started = due = time.perf_counter()
    while due - started < seconds:
        await asyncio.sleep(due - time.perf_counter())
        sent.append(asyncio.create_task(_timed(run, next(snippets), stint)))
        due += draws.expovariate(rate)
    await asyncio.gather(*sent)
    stint.seconds = max(seconds, time.perf_counter() - started)
    return stint


async def _timed(run: Run, snippet: Snippet, stint: Stint) -> None:
    sent = time.perf_counter()
    await run(snippet)
    stint.latencies.append(time.perf_counter() - sent)
