"""A whole run: how near its executions come to what the sandbox can do by itself."""

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from soliloquy.v1.sandbox_pb2 import Job

from services.client.dataset import Dataset
from services.executor.pool import SandboxPool
from services.executor.settings import SandboxSettings
from tests.e2e.runs import grown

CONVERSATIONS = 1000
SANDBOX_JOBS = 1000
CALLERS = 16


async def measure(conversations: int = CONVERSATIONS) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "dataset"
        report = await asyncio.to_thread(grown, out, conversations=conversations)
        jobs = list(_jobs(out))
    executions = sum(report["executions"].values())
    own = await _own_rate(jobs[:SANDBOX_JOBS])
    return {
        "conversations_per_second": conversations / report["seconds"],
        "executions_per_second": executions / report["seconds"],
        "sandbox_alone_per_second": own,
        "share_of_sandbox": executions / report["seconds"] / own,
    }


def _jobs(out: Path) -> Iterator[Job]:
    for record in Dataset(out):
        for turn in record["turns"]:
            for attempt in turn["soliloquy"]["attempts"]:
                yield Job(id="again", code=attempt["code"], result_variables=attempt["result_variables"])


async def _own_rate(jobs: list[Job]) -> float:
    """The same code once more, with nothing in between."""
    pool = SandboxPool(SandboxSettings(sandboxes=os.cpu_count() or 1))
    await pool.start()
    try:
        await _execute(pool, jobs[:20])
        started = time.perf_counter()
        await _execute(pool, jobs)
        return len(jobs) / (time.perf_counter() - started)
    finally:
        await pool.stop()


async def _execute(pool: SandboxPool, jobs: list[Job]) -> None:
    waiting = iter(jobs)

    async def call() -> None:
        for job in waiting:
            await pool.execute(job)

    await asyncio.gather(*(call() for _ in range(CALLERS)))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure()), indent=2))
