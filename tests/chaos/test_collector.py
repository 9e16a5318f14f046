"""Kills a collector thirty times, and lets one collect for a long time."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.e2e.collectors import harmed
from tests.e2e.runs import measured

KILLS = 30
# A million takes an hour; two hundred thousand take minutes.
COLLECTED = int(os.environ.get("COLLECTED", "200000"))


@pytest.mark.timeout(1800)
async def test_a_collector_killed_thirty_times_loses_nothing_and_keeps_nothing_twice(tmp_path: Path) -> None:
    harm = await harmed(tmp_path, kills=KILLS, seed=7)
    print(f"\n{harm.kills} kills, {len(harm.published)} conversations, {len(harm.kept)} kept, {harm.findings}")
    assert sorted(harm.kept) == sorted(harm.published)
    assert set(harm.kept.values()) == {1}
    assert harm.findings == []


@pytest.mark.timeout(7200)
def test_memory_stays_level_over_a_long_run_and_a_shard_is_soon_read() -> None:
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "dataset",
        "--conversations",
        "10000",
        "--long",
        str(COLLECTED),
        "--rounds",
        "1",
    ]
    figures = measured(command)
    print(f"\n{json.dumps(figures)}")
    assert figures["memory"]["rss_mib"]["median"] <= 500
    assert figures["memory"]["rss_growth"]["median"] <= 1.5
    assert figures["read"]["rows"]["median"] == 10_000
    assert figures["bare"]["per_cpu_second"]["median"] > 0
