"""The ways to run a snippet that are compared: in the pool's sandboxes, and in a subprocess without any."""

import asyncio
import json
import sys
from collections import Counter

from benchmarks.executor.load import Run
from benchmarks.executor.mixes import Snippet, WrongResult
from services.executor.pool import SandboxPool
from soliloquy.runtime.values import lane_name
from soliloquy.v1.sandbox_pb2 import Execution

_TELL = "import json\nprint(json.dumps({{name: globals()[name] for name in {names}}}))"


def in_pool(pool: SandboxPool, lanes: Counter[str]) -> Run:
    """Counts the jobs by the lane that they took."""

    async def run(snippet: Snippet) -> None:
        done = await pool.execute(snippet.job)
        snippet.check(done)
        lanes[lane_of(done)] += 1

    return run


def lane_of(done: Execution) -> str:
    """As the mixes are named."""
    return lane_name(done).replace("_", "-")


async def in_subprocess(snippet: Snippet) -> None:
    code = f"{snippet.job.code}\n{_TELL.format(names=list(snippet.expected))}"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, errors = await process.communicate()
    if process.returncode != 0:
        said = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise WrongResult(f"{snippet.name!r} ended with {process.returncode} in a subprocess: {said}")
    snippet.check_values(json.loads(output.splitlines()[-1]))
