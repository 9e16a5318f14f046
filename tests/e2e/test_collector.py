"""kill -9 of a collector loses no conversation and keeps none twice; the fault suite does it thirty times."""

from pathlib import Path

import pytest

from tests.e2e.collectors import harmed

pytestmark = pytest.mark.thorough

KILLS = 3


async def test_a_killed_collector_loses_nothing_and_keeps_nothing_twice(tmp_path: Path) -> None:
    harm = await harmed(tmp_path, kills=KILLS, seed=1)
    assert sorted(harm.kept) == sorted(harm.published)
    assert set(harm.kept.values()) == {1}
    assert harm.findings == []
