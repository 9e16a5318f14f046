"""Every hostile job ends as expected, and the next job is correct in both lanes."""

import re

import pytest

from soliloquy.v1.sandbox_pb2 import LANE_FAST, LANE_FORK, STATUS_OK, STATUS_TIMEOUT, Lane, Limits, Status
from soliloquy_services.executor.pool import SandboxPool
from tests.integration.executor.hostile import BYPASSES, HOSTILE, LEGACIES
from tests.integration.executor.support import assert_ordinary_job_is_right, job, needs_runsc

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="session")]

_DEEDS = HOSTILE | BYPASSES
# Endless jobs get less time than finite ones; a stack overflow may take seconds.
_ENDLESS, _MOST = Limits(wall_seconds=0.5), Limits(wall_seconds=8.0)


@pytest.mark.parametrize("outcome", _DEEDS)
async def test_a_hostile_job_ends_as_it_should_and_the_next_ones_are_right(pool: SandboxPool, outcome: str) -> None:
    deed = _DEEDS[outcome]
    limits = _ENDLESS if deed.status == STATUS_TIMEOUT else _MOST
    done = await pool.execute(job(deed.code, *deed.names, limits=limits))
    assert Status.Name(done.status) == Status.Name(deed.status), done
    assert Lane.Name(done.lane) == Lane.Name(deed.lane), done
    assert re.search(deed.told, str(done.values) if done.values else done.error), done
    assert done.seconds < limits.wall_seconds + 1.5
    await _ordinary_jobs_are_right(pool)


@pytest.mark.parametrize("outcome", LEGACIES)
async def test_a_job_leaves_nothing_to_the_next(pool: SandboxPool, outcome: str) -> None:
    legacy = LEGACIES[outcome]
    before = await pool.execute(job(legacy.asked, "x"))
    left = await pool.execute(job(legacy.left, *legacy.names))
    after = [await pool.execute(job(legacy.asked, "x")) for _ in range(3)]
    assert [done.status for done in (before, left, *after)] == [STATUS_OK] * 5, (left, before, after)
    assert (left.lane, before.lane) == legacy.lanes
    assert [(done.values, done.stdout, done.lane) for done in after] == [
        (before.values, before.stdout, before.lane)
    ] * 3
    await _ordinary_jobs_are_right(pool)


async def test_rubbish_whose_clearing_away_overflows_the_stack_harms_no_other_job(pool: SandboxPool) -> None:
    await pool.execute(job("x = [1]\nfor n in range(10 ** 6): x = enumerate(x)\nxs = [x]\nxs += [xs]"))
    for _ in range(3):
        # Enough containers for Python to collect cycles.
        done = await pool.execute(job("x = len([[n] for n in range(5 * 10 ** 5)])", "x"))
        assert (Status.Name(done.status), Lane.Name(done.lane)) == ("STATUS_OK", "LANE_FAST")
        assert done.values[0].value.integer == "500000"


async def _ordinary_jobs_are_right(pool: SandboxPool) -> None:
    for lane in (LANE_FAST, LANE_FORK):
        await assert_ordinary_job_is_right(pool, lane=lane)
