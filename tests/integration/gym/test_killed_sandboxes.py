"""Episodes whose sandboxes are killed are the same as others."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from soliloquy.gym import Gym
from tests.integration.executor.support import kill_all, needs_runsc, runsc_pids
from tests.unit.gym.playing import all_played

EPISODES, KILLS = 60, 4


@pytest.mark.thorough
@needs_runsc
async def test_killed_sandboxes_cost_no_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with Gym("soliloquy", "physics", 17) as gym:
        whole = await all_played(gym, range(EPISODES))
        playing, killed = asyncio.ensure_future(all_played(gym, range(EPISODES))), 0
        while not playing.done():
            if killed < KILLS and runsc_pids(tmp_path):
                kill_all(tmp_path)
                killed += 1
            await asyncio.sleep(0.3)
    again = playing.result()
    assert killed == KILLS
    for one, other in zip(whole, again, strict=True):
        assert [turn.tutor for turn in one.conversation.turns] == [turn.tutor for turn in other.conversation.turns]
