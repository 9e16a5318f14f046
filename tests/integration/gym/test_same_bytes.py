"""With the stand-in as its policy, a gym plays the conversations of `soliloquy generate`."""

import subprocess
import sys
from pathlib import Path

import pytest

from soliloquy.client import Dataset
from soliloquy.dataset.rows import messages, rows
from soliloquy.dataset.timings import without_timings
from soliloquy.gym import Gym
from tests.unit.gym.playing import all_played

SEED = 17


def generate(recipe: str, problems: str, conversations: int, out: Path) -> None:
    options = ["--recipe", recipe, "--problems", problems, "--seed", str(SEED), "--noise", "real", "--quiet"]
    command = [sys.executable, "-c", "from soliloquy.cli.main import main; main()", "generate", *options]
    subprocess.run([*command, "--conversations", str(conversations), "--out", out], check=True, timeout=200)


async def check_same_bytes(recipe: str, problems: str, conversations: int, out: Path) -> None:
    generate(recipe, problems, conversations, out)
    stored = [row for batch in Dataset(out).batches() for row in messages(batch)]
    async with Gym(recipe, problems, SEED, noise="real") as gym:
        played = await all_played(gym, range(conversations))
    own = rows((one.conversation.SerializeToString() for one in played), recipe)
    assert list(messages(without_timings(own))) == stored


async def test_the_stand_in_plays_the_conversations_of_generate_byte_for_byte(tmp_path: Path) -> None:
    await check_same_bytes("soliloquy", "physics", 8, tmp_path / "out")


@pytest.mark.thorough
@pytest.mark.parametrize("recipe", ["mathdial", "scaffold"])
async def test_so_it_does_in_other_recipes(recipe: str, tmp_path: Path) -> None:
    await check_same_bytes(recipe, "arithmetic", 40, tmp_path / "out")
