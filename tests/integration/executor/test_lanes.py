"""The vet alone decides where a job runs, the execution names the lane, and each lane handles its jobs."""

import asyncio
from pathlib import Path

import pytest

from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2 import LANE_FAST, LANE_FORK, LANE_SINGLE_USE, STATUS_ERROR, STATUS_OK, Job, Limits
from soliloquy_services.executor.lane import Busy
from soliloquy_services.executor.pool import SandboxPool
from tests.cases import each_case
from tests.integration.executor.support import (
    ENDLESS,
    assert_ordinary_job_is_right,
    job,
    needs_runsc,
    started,
    until_in_a_sandbox,
    value_of,
)

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="session")]

_MONKEYPATCHED = """import math
import os
math.isclose = lambda *numbers, **tolerances: True
t = 3.4268
student_t = 11.74
is_right = math.isclose(student_t, t, rel_tol=0.01)
"""


@pytest.mark.parametrize(
    ("code", "lane"),
    [
        ("x = 1", LANE_FAST),
        ("import math\nx = math.sqrt(2)", LANE_FAST),
        ("x = 1 / 0", LANE_FAST),
        ("x = (", LANE_FAST),
        ("import os\nx = 1", LANE_FORK),
        ("x = 0\nwhile x < 3: x += 1", LANE_FORK),
        ("x = []\nx.append(1)", LANE_FORK),
    ],
)
async def test_the_vet_decides_the_lane_and_the_execution_says_it(pool: SandboxPool, code: str, lane: int) -> None:
    assert (await pool.execute(job(code, "x"))).lane == lane


async def test_the_lanes_give_the_same_values(pool: SandboxPool) -> None:
    code = "import math\nx = [sum(range(n)) / 7 for n in range(9)]\ny = math.comb(60, 30) ** 40\nz = 3j\nprint(x, y, z)"
    fast = await pool.execute(job(code, "x", "y", "z"))
    fork = await pool.execute(job(f"import os\n{code}", "x", "y", "z"))
    alone = await pool.execute(job(code, "x", "y", "z", single_use=True))
    assert [done.lane for done in (fast, fork, alone)] == [LANE_FAST, LANE_FORK, LANE_SINGLE_USE]
    assert list(fast.values) == list(fork.values) == list(alone.values)
    assert fast.stdout == fork.stdout == alone.stdout != ""


@pytest.mark.parametrize("imports", ["import math", "import math, os"])
async def test_a_verdict_is_computed_again_on_the_host_whatever_the_lane(pool: SandboxPool, imports: str) -> None:
    code = f"{imports}\ns = 3.43\nt = math.sqrt(2 * 57.6 / 9.81)\nis_right = math.isclose(t, s, rel_tol=0.01)"
    done = await pool.execute(job(code, "is_right"))
    assert done.values[0].value.boolean is True
    assert list(done.recomputed) == ["is_right"]


async def test_a_verdict_that_contradicts_its_numbers_is_an_error(pool: SandboxPool) -> None:
    done = await pool.execute(job(_MONKEYPATCHED, "is_right"))
    assert done.status == STATUS_ERROR
    assert done.error == ("is_right is True, but math.isclose(11.74, 3.4268, rel_tol=0.01, abs_tol=0.0) is False")


@pytest.mark.parametrize("imports", ["", "import os\n"])
async def test_a_caller_may_ask_for_less_time_memory_and_output(pool: SandboxPool, imports: str) -> None:
    def limited(code: str, limits: Limits | None = None) -> Job:
        return Job(code=imports + code, result_variables=["x"], limits=limits)

    slow = await pool.execute(limited(ENDLESS, Limits(wall_seconds=0.2)))
    assert slow.status == sandbox_pb2.STATUS_TIMEOUT
    assert 0.2 <= slow.seconds < 1.5
    big = await pool.execute(limited("x = [0] * 2 * 10 ** 7", Limits(memory_bytes=1 << 27)))
    assert big.status == sandbox_pb2.STATUS_MEMORY
    assert (await pool.execute(limited("x = len([0] * 2 * 10 ** 7)"))).status == STATUS_OK
    loud = await pool.execute(limited("x = 1\nprint('x' * 100)", Limits(stdout_bytes=10)))
    assert (loud.status, loud.stdout) == (sandbox_pb2.STATUS_OUTPUT_LIMIT, "x" * 10)


@each_case
async def test_numpy_and_sympy_are_there_and_their_numbers_are_numbers(
    pool: SandboxPool, package: str, code: str, shown: str
) -> None:
    pytest.importorskip(package)
    value = await value_of(pool, code)
    assert shown in str(value)


async def test_an_audit_runs_every_job_in_a_sandbox_of_its_own(tmp_path: Path) -> None:
    async with started(tmp_path, audit=True) as pool:
        for code in ("x = 6 * 7", "import os\nx = 6 * 7"):
            done = await pool.execute(job(code, "x"))
            assert (done.lane, done.values[0].value.integer) == (LANE_SINGLE_USE, "42")


async def test_more_jobs_than_may_wait_are_refused_at_once(tmp_path: Path) -> None:
    async with started(tmp_path, max_waiting=1, wall_seconds=0.5) as pool:
        running = asyncio.create_task(pool.execute(job(ENDLESS)))
        await until_in_a_sandbox(pool, "fast")
        waiting = asyncio.create_task(pool.execute(job("x = 1", "x")))
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="1 jobs are already waiting for a sandbox"):
            await pool.execute(job("x = 1"))
        assert (await waiting).status == STATUS_OK
        assert (await running).status == sandbox_pb2.STATUS_TIMEOUT
        await assert_ordinary_job_is_right(pool)
