"""`python -m benchmarks gym`."""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import uvloop
from rich.console import RenderableType

from benchmarks import machine
from benchmarks.command import AS_JSON, generated, rounds_option, show, spread, status_line, table
from benchmarks.figures import judged, merged
from benchmarks.gym_episodes import BANK, RECIPE, SEED, play
from soliloquy.cli.command import Command
from soliloquy.client import Dataset
from soliloquy.dataset.rows import messages, rows
from soliloquy.dataset.timings import without_timings
from soliloquy.gym import Gym

_TARGETS = Path(__file__).with_suffix(".toml")
_PROCESSES = 2
_AT_ONCE = 64


@click.command(cls=Command)
@click.option(
    "--conversations",
    default=1000,
    show_default=True,
    type=click.IntRange(min=_PROCESSES),
    help="Conversations that are compared, and episodes of each round.",
)
@rounds_option(3)
@AS_JSON
def gym(*, conversations: int, rounds: int, as_json: bool) -> None:
    """Measure the gym: episodes a second, its own time a turn, and whether it plays what `generate` does.

    The policy of the timed episodes replays answers: the time is that of the stand-in as the student, of the rules, the
    sandbox and the reward. The same conversations are also played without the gym.
    """
    with status_line() as tell:
        tell(f"{conversations} conversations of generate, and the same in the gym")
        different = _different(conversations)
        if different:
            raise click.ClickException(f"{len(different)} of {conversations} conversations differ: {different[:3]}")
        measured = []
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}: {conversations} episodes in {_PROCESSES} processes")
            measured.append(_round(conversations))
    figures = {"machine": machine.facts(), "rounds": rounds, "same_bytes": conversations, **merged(measured)}
    show(figures | {"targets": judged(figures, _TARGETS)}, tables, as_json=as_json)


def _different(conversations: int) -> Sequence[int]:
    """Returns the places of conversations that the gym plays otherwise than a run."""
    with tempfile.TemporaryDirectory(prefix="soliloquy-bench-") as folder:
        out = str(Path(folder) / "out")
        options = ["--recipe", RECIPE, "--problems", BANK, "--seed", str(SEED), "--noise", "real", "--quiet"]
        generated([*options, "--conversations", str(conversations), "--out", out])
        stored = [row for batch in Dataset(out).batches() for row in messages(batch)]
    played = uvloop.run(_played(conversations))
    own = messages(without_timings(rows(played, RECIPE)))
    return [place for place, (one, other) in enumerate(zip(own, stored, strict=True)) if one != other]


async def _played(conversations: int) -> Sequence[bytes]:
    places = asyncio.Semaphore(_AT_ONCE)
    async with Gym(RECIPE, BANK, SEED, noise="real") as opened:

        async def serialised(ordinal: int) -> bytes:
            async with places:
                episode = opened.episode(ordinal)
                await play(episode)
                return episode.conversation.SerializeToString()

        return await asyncio.gather(*map(serialised, range(conversations)))


def _round(conversations: int) -> dict[str, float]:
    each = conversations // _PROCESSES
    command = [sys.executable, "-m", "benchmarks.gym_episodes"]
    started = [
        subprocess.Popen([*command, str(place * each), str(each)], stdout=subprocess.PIPE, text=True)
        for place in range(_PROCESSES)
    ]
    told = [json.loads(process.communicate()[0]) for process in started]
    turns = sum(one["turns"] for one in told)
    cpu, bare = (1000 * sum(one[kind] for one in told) / turns for kind in ("cpu", "bare_cpu"))
    return {
        "conversations_per_second": sum(one["conversations"] / one["seconds"] for one in told),
        "cpu_ms_a_turn": cpu,
        "own_ms_a_turn": cpu - bare,
    }


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    made = table("gym", "")
    made.add_row("conversations as generate plays them, byte for byte", f"{figures['same_bytes']:,}")
    made.add_row("conversations a second, two processes", spread(figures["conversations_per_second"]))
    made.add_row("CPU ms a turn, of the process", spread(figures["cpu_ms_a_turn"]))
    made.add_row("and of the gym and the rewards alone", spread(figures["own_ms_a_turn"]))
    yield made
