"""The processes of a pool's sandboxes."""

from pathlib import Path

from benchmarks import processes
from soliloquy.v1.sandbox_pb2 import LANE_FAST, LANE_FORK
from tests.integration.executor.support import assert_ordinary_job_is_right, needs_runsc, started


@needs_runsc
async def test_each_sandbox_is_a_family_with_its_memory_until_the_pool_stops(tmp_path: Path) -> None:
    async with started(tmp_path) as pool:
        for lane in (LANE_FAST, LANE_FORK):
            await assert_ordinary_job_is_right(pool, lane=lane)
        families = processes.sandbox_families(tmp_path).values()
        # The zygote runs in neither of runsc's own processes.
        assert all(len(family) > 3 for family in families)
        assert all(5 < processes.pss_mib(family) < 200 for family in families)
    assert len(families) == 2
    assert processes.sandbox_families(tmp_path) == {}
