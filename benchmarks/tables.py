"""`python -m benchmarks tables`."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from benchmarks import machine
from benchmarks.collecting import WrongDataset
from benchmarks.command import AS_JSON, Tell, rounds_option, show, spread, status_line, table
from benchmarks.dataset import grown
from benchmarks.figures import judged, merged
from soliloquy.dataset.frames import Frames, read_messages
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.events import run_key
from soliloquy.v1.conversation_pb2 import Conversation
from tests.lakehouse.lakehouse import STORE, lakehouse

_TARGETS = Path(__file__).with_suffix(".toml")
_LABELS = {"folder": "one collector into a folder", "one": "one into tables", "two": "two into tables"}


@click.command()
@click.option(
    "--conversations",
    default=50_000,
    show_default=True,
    type=click.IntRange(min=100),
    help="Conversations to collect for each rate.",
)
@rounds_option(3)
@AS_JSON
def tables(*, conversations: int, rounds: int, as_json: bool) -> None:
    """Measure collectors, each a process, that write tables with a catalog in PostgreSQL and a warehouse in S3.

    The events are in memory, unjudged: 200 conversations grown in gVisor, again and again with other ids.
    """
    with status_line() as tell:
        tell("growing conversations")
        with tempfile.TemporaryDirectory() as folder:
            sample = Path(folder) / "grown"
            asyncio.run(_write(sample, grown(Path(folder), conversations)))
            measured = [_round(sample, conversations, number, tell) for number in range(1, rounds + 1)]
    figures: dict[str, Any] = {"machine": machine.facts(), "rounds": rounds, "conversations": conversations}
    figures |= merged(measured)
    show(figures | {"targets": judged(figures, _TARGETS)}, _tables, as_json=as_json)


async def _write(path: Path, conversations: list[Conversation]) -> None:
    frames = Frames(path)
    for one in conversations:
        await frames.append(one.SerializeToString())
    frames.close()


def _round(sample: Path, conversations: int, number: int, tell: Tell) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, collectors in (("folder", 1), ("one", 1), ("two", 2)):
        tell(f"round {number}: {_LABELS[name]}")
        with tempfile.TemporaryDirectory() as folder, lakehouse(Path(folder)) as at:
            store = "" if name == "folder" else STORE
            found[name] = _collected(store, Path(folder), sample, conversations, collectors, at.environment)
    return found | {"two_to_folder": found["two"]["per_second"] / found["folder"]["per_second"]}


def _collected(
    store: str, folder: Path, sample: Path, conversations: int, collectors: int, environment: Mapping[str, str]
) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.table_load", store, str(folder / "data"), str(sample)]
    processes = [
        subprocess.Popen(
            [*command, str(conversations), str(first), str(collectors)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
            text=True,
        )
        for first in range(collectors)
    ]
    for each in processes:
        assert each.stdout
        assert each.stdout.readline() == "ready\n"
    for each in processes:
        assert each.stdin
        each.stdin.write("go\n")
        each.stdin.flush()
    figures = [json.loads(each.communicate()[0]) for each in processes]
    seconds = max(one["ended"] for one in figures) - min(one["began"] for one in figures)
    os.environ.update(environment)
    run = run_key(Conversation.FromString(next(iter(read_messages(sample)))).run)
    dataset = Dataset(f"{store or folder / 'data'}/{run}")
    if (held := dataset.count() + dataset.count(rejected=True)) != conversations + collectors:
        raise WrongDataset(f"{held} conversations are collected, not {conversations + collectors}")
    return {"per_second": conversations / seconds} | {
        name: max(one[name] for one in figures) for name in ("rss_mib", "rss_growth")
    }


def _tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    rates = table(f"{figures['conversations']:,} conversations", "a second", "MiB of memory each")
    for name, label in _LABELS.items():
        rates.add_row(label, spread(figures[name]["per_second"]), spread(figures[name]["rss_mib"]))
    yield rates
