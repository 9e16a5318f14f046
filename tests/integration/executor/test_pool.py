"""Sandboxes die, owners die, runsc is missing: no job runs outside gVisor, and nothing is left behind."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import processes
from soliloquy.v1.sandbox_pb2 import LANE_FORK, LANE_SINGLE_USE, STATUS_OK, STATUS_SANDBOX_DIED
from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from tests.integration.executor.leftovers import leftovers
from tests.integration.executor.support import (
    ENDLESS,
    ORDINARY,
    Runsc,
    assert_ordinary_job_is_right,
    assert_soon_right,
    job,
    kill_all,
    needs_runsc,
    runsc_pids,
    started,
    until_in_a_sandbox,
)
from tests.waiting import until

pytestmark = needs_runsc

_SLOW = "x = max(n % 2 for n in range(10 ** 7))"

_OWNER = """
import asyncio, sys
from pathlib import Path
from soliloquy.v1.sandbox_pb2 import Job
from soliloquy_services.executor.pool import SandboxPool
from soliloquy_services.executor.policy import SandboxSettings

async def main():
    pool = SandboxPool(SandboxSettings(sandboxes=1, wall_seconds=60, runtime_dir=Path(sys.argv[1])))
    await pool.start()
    done = await pool.execute(Job(code="x = 6 * 7", result_variables=["x"]))
    print(done.values[0].value.integer, flush=True)
    await pool.execute(Job(code="while True: pass"))

asyncio.run(main())
"""


async def test_many_callers_share_two_sandboxes_a_lane(tmp_path: Path) -> None:
    async with started(tmp_path, sandboxes=2) as pool:
        jobs = [job(f"{'import os' if n % 3 else ''}\nx = {n} ** 2", "x") for n in range(30)]
        answers = await asyncio.gather(*map(pool.execute, jobs))
    assert [int(done.values[0].value.integer) for done in answers] == [n**2 for n in range(30)]


async def test_jobs_that_come_all_at_once_get_every_sandbox_of_their_lane(tmp_path: Path) -> None:
    async with started(tmp_path, sandboxes=3, wall_seconds=30) as pool:
        running = [asyncio.create_task(pool.execute(job("import time\ntime.sleep(20)"))) for _ in range(6)]
        await until(lambda: pool.busy["fork"] == 3)
        for one in running:
            one.cancel()


async def test_stop_is_quick_and_leaves_nothing_even_mid_job(tmp_path: Path) -> None:
    async with started(tmp_path) as pool:
        running = asyncio.create_task(pool.execute(job(ENDLESS)))
        await until_in_a_sandbox(pool, "fast")
        before = time.monotonic()
        await pool.stop()
        assert time.monotonic() - before < 15
    assert runsc_pids(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
    await until(lambda: leftovers(tmp_path) == [])
    with pytest.raises(SandboxUnavailable, match="stopped"):
        await running
    with pytest.raises(SandboxUnavailable):
        await pool.execute(job("x = 1"))


async def test_a_job_whose_sandbox_is_killed_is_answered_by_one_of_its_own(tmp_path: Path) -> None:
    async with started(tmp_path, wall_seconds=30) as pool:
        running = asyncio.create_task(pool.execute(job(f"import os\n{_SLOW}", "x")))
        await until_in_a_sandbox(pool, "fork")
        kill_all(tmp_path)
        done = await running
        assert (done.status, done.lane) == (STATUS_OK, LANE_SINGLE_USE)
        assert done.values[0].value.integer == "1"
        await assert_soon_right(pool)
        await assert_soon_right(pool, lane=LANE_FORK)


@pytest.mark.thorough
async def test_a_job_that_outlives_four_sandboxes_is_told_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with started(tmp_path, wall_seconds=30) as pool:
        running = asyncio.create_task(pool.execute(job(f"import os\n{_SLOW}", "x")))
        await until_in_a_sandbox(pool, "fork")
        kill_all(tmp_path)
        for _ in range(3):
            await until_in_a_sandbox(pool, "single-use")
            kill_all(tmp_path)
            await until(lambda: "of its own died" in caplog.text)
            caplog.clear()
        done = await running
        assert (done.status, done.lane) == (STATUS_SANDBOX_DIED, LANE_SINGLE_USE)
        await assert_soon_right(pool)


@pytest.mark.thorough
async def test_sandboxes_that_stop_answering_are_replaced(tmp_path: Path) -> None:
    async with started(tmp_path, wall_seconds=0.5) as pool:
        await assert_ordinary_job_is_right(pool, lane=LANE_FORK)
        for pid in runsc_pids(tmp_path):
            os.kill(pid, signal.SIGSTOP)
        for code in (ORDINARY, f"import os\n{ORDINARY}"):
            done = await pool.execute(job(code, "tutor_range"))
            assert done.values[0].value.real == pytest.approx(13.8078, abs=1e-4)
        await assert_ordinary_job_is_right(pool)


@pytest.mark.thorough
async def test_sandboxes_that_can_make_no_process_any_more_are_replaced(tmp_path: Path) -> None:
    async with started(tmp_path, wall_seconds=0.5) as pool:
        await assert_ordinary_job_is_right(pool, lane=LANE_FORK)
        limits = _process_limits(tmp_path)
        if not limits and os.geteuid() != 0:
            pytest.skip("no control group bounds an ordinary user's sandboxes")
        for limit in limits:
            limit.write_text("1")
        # The child for the first was forked ahead.
        for _ in range(3):
            done = await pool.execute(job(f"import os\n{ORDINARY}", "tutor_range"))
            assert done.values[0].value.real == pytest.approx(13.8078, abs=1e-4)
        await assert_soon_right(pool, lane=LANE_FORK)
        await assert_soon_right(pool)
        assert not all(limit.exists() for limit in limits)


async def test_only_what_jobs_come_for_is_booted(tmp_path: Path) -> None:
    async with started(tmp_path, sandboxes=2, wall_seconds=30) as pool:
        await assert_ordinary_job_is_right(pool)
        assert len(processes.sandbox_families(tmp_path)) == 1
        await assert_ordinary_job_is_right(pool, lane=LANE_FORK)
        assert len(processes.sandbox_families(tmp_path)) == 2
        both = await asyncio.gather(*(pool.execute(job(_SLOW, "x")) for _ in range(2)))
        assert [done.status for done in both] == [STATUS_OK, STATUS_OK]
        await until(lambda: len(processes.sandbox_families(tmp_path)) == 3)


async def test_while_no_sandbox_boots_jobs_are_refused_and_afterwards_served(tmp_path: Path, runsc: Runsc) -> None:
    async with started(tmp_path) as pool:
        await assert_ordinary_job_is_right(pool, lane=LANE_FORK)
        runsc.break_down()
        kill_all(tmp_path)
        for _ in range(3):
            with pytest.raises(SandboxUnavailable, match=r"no sandbox boots|died in its self-test"):
                await pool.execute(job("x = 1", "x"))
        # A sandbox that was killed in its self-test had booted: the next try says that none does.
        await until(lambda: "no sandbox boots" in str(pool.fault))
        runsc.repair()
        await assert_soon_right(pool)
        await assert_soon_right(pool, lane=LANE_FORK)
        assert pool.fault is None


async def test_a_sandbox_is_recycled_without_a_job_waiting_for_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with started(tmp_path, recycle_after=3) as pool:
        await assert_ordinary_job_is_right(pool, lane=LANE_FORK)
        first = runsc_pids(tmp_path)
        for _ in range(3):
            await assert_ordinary_job_is_right(pool, lane=LANE_FORK)
        await until(lambda: caplog.text.count(" is up ") == 3)
        await assert_ordinary_job_is_right(pool, lane=LANE_FORK)
        await until(lambda: len(set(first) & set(runsc_pids(tmp_path))) < len(first))
        await assert_ordinary_job_is_right(pool, lane=LANE_FORK)


async def test_the_sandboxes_of_a_killed_owner_end_and_the_next_start_sweeps_its_folder(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, tmp_path], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    assert await asyncio.to_thread(owner.stdout.readline) == b"42\n"
    assert runsc_pids(tmp_path)
    left = list(tmp_path.iterdir())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    await until(lambda: not runsc_pids(tmp_path))
    async with started(tmp_path):
        assert not any(folder.exists() for folder in left)
    assert list(tmp_path.iterdir()) == []
    await until(lambda: leftovers(tmp_path) == [])


def _process_limits(runtime_dir: Path) -> list[Path]:
    """Returns one entry for each running sandbox."""
    [noted] = runtime_dir.glob("*/cgroups")
    return sorted(limit for folder in noted.read_text().split() for limit in Path(folder).glob("*/pids.max"))
