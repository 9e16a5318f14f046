"""kill -9 of the collector at thirty random moments: 0 lost, 0 double, and the dataset verifies."""

from pathlib import Path

import pytest

from tests.e2e.collectors import harmed

KILLS = 30


@pytest.mark.timeout(1800)
async def test_a_collector_killed_thirty_times_loses_nothing_and_keeps_nothing_twice(tmp_path: Path) -> None:
    harm = await harmed(tmp_path, kills=KILLS, seed=7)
    print(f"\n{harm.kills} kills, {len(harm.published)} conversations, {len(harm.kept)} kept, {harm.findings}")
    assert sorted(harm.kept) == sorted(harm.published)
    assert set(harm.kept.values()) == {1}
    assert harm.findings == []
