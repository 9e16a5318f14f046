"""With the stand-in as its policy, a gym plays the conversations of `soliloquy generate`."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from soliloquy.client import Dataset
from soliloquy.dataset.rows import REASONS, messages, rows
from soliloquy.dataset.timings import without_timings
from soliloquy.gym import Gym
from soliloquy.v1.conversation_pb2 import Conversation
from tests.integration.executor.support import needs_runsc
from tests.unit.gym.playing import played

pytestmark = needs_runsc
SEED = 17


def generate(recipe: str, problems: str, conversations: int, out: Path, *flags: str) -> None:
    options = ["--recipe", recipe, "--problems", problems, "--seed", str(SEED), "--noise", "real", "--quiet", *flags]
    command = [sys.executable, "-c", "from soliloquy.cli.main import main; main()", "generate", *options]
    subprocess.run([*command, "--conversations", str(conversations), "--out", out], check=True, timeout=200)


def stored(out: Path) -> Iterator[bytes]:
    for rejected in (False, True):
        for batch in Dataset(out).batches(rejected=rejected):
            yield from messages(batch.drop_columns([REASONS.name]) if rejected else batch)


async def check_same_bytes(recipe: str, problems: str, out: Path, **settings: Any) -> list[Conversation]:
    """Plays each conversation of a dataset again; returns them."""
    kept = list(stored(out))
    known = [Conversation.FromString(row) for row in kept]
    async with Gym(recipe, problems, SEED, noise="real", **settings) as gym:
        episodes = [gym.episode(one.ordinal, attempt=one.attempt) for one in known]
        again = await asyncio.gather(*map(played, episodes))
    own = rows((one.conversation.SerializeToString() for one in again), recipe)
    assert list(messages(without_timings(own))) == kept
    return known


async def test_the_stand_in_plays_the_conversations_of_generate_byte_for_byte(tmp_path: Path) -> None:
    generate("soliloquy", "physics", 8, tmp_path / "out")
    assert len(await check_same_bytes("soliloquy", "physics", tmp_path / "out")) == 8


@pytest.mark.thorough
@pytest.mark.parametrize("recipe", ["mathdial", "scaffold"])
async def test_so_it_does_in_other_recipes(recipe: str, tmp_path: Path) -> None:
    generate(recipe, "arithmetic", 40, tmp_path / "out")
    await check_same_bytes(recipe, "arithmetic", tmp_path / "out")


@pytest.mark.thorough
async def test_further_attempts_at_an_enriched_problem_are_the_same(tmp_path: Path) -> None:
    generate("soliloquy", "physics", 8, tmp_path / "out", "--enrich", "--max-turns", "4")
    known = await check_same_bytes("soliloquy", "physics", tmp_path / "out", enrich=True, max_turns=4)
    assert any(one.attempt for one in known)
