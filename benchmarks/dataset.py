"""`python -m benchmarks dataset`."""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq
import uvloop
from rich.console import RenderableType

from benchmarks import collecting, machine
from benchmarks.collecting import FinishedLog, WrongDataset
from benchmarks.command import AS_JSON, Tell, rounds_option, show, spread, status_line, table
from benchmarks.figures import judged, merged
from benchmarks.observed_run import ObservedRun, RunRequest
from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import NAMES, ExportOptions, find
from soliloquy.dataset.layout import ACCEPTED
from soliloquy.dataset.manifest import MANIFEST
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.rows import messages
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation

# More texts than any cache holds, so that each is judged; with answers that are mended, which preferences are made of.
GROWN = RunRequest(conversations=200, in_flight=64, latency=((0.0, 1.0),), noise="real")
_TARGETS = Path(__file__).with_suffix(".toml")
_RATES = {
    "to verified shards": "collected",
    "the same, judged": "judged",
    "pyarrow alone, rows to a file": "bare",
}


@click.command()
@click.option(
    "--conversations",
    default=10_000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Conversations to collect for each rate.",
)
@click.option(
    "--long",
    default=50_000,
    show_default=True,
    type=click.IntRange(min=40),
    help="Conversations to collect for the memory figures.",
)
@rounds_option(3)
@AS_JSON
def dataset(*, conversations: int, long: int, rounds: int, as_json: bool) -> None:
    """Measure the collector and the exports.

    The collector takes serialised events and writes verified shards.

    The benchmark grows up to 200 conversations in gVisor, and collects them again and again with other ids.
    """
    try:
        with status_line() as tell:
            figures = measure(conversations=conversations, long=long, rounds=rounds, tell=tell)
    except WrongDataset as wrong:
        raise Failure(str(wrong)) from wrong
    show(figures, tables, as_json=as_json)


def measure(*, conversations: int, long: int, rounds: int, tell: Tell) -> dict[str, Any]:
    tell("growing conversations")
    with tempfile.TemporaryDirectory() as folder:
        log = FinishedLog(conversations=grown(Path(folder), conversations))
    figures: dict[str, Any] = {"machine": machine.facts(), "rounds": rounds, "conversations": conversations}
    with tempfile.TemporaryDirectory() as folder:
        figures["memory"] = merged([uvloop.run(collecting.memory(Path(folder), log, long, tell))])
    figures |= merged([_round(log, conversations, number, tell) for number in range(1, rounds + 1)])
    return figures | {"targets": judged(figures, _TARGETS)}


def _round(log: FinishedLog, conversations: int, number: int, tell: Tell) -> dict[str, Any]:
    found = {}
    for name in ("collected", "judged"):
        tell(f"round {number}: {name}")
        with tempfile.TemporaryDirectory() as folder:
            done = collecting.collected(Path(folder), log, conversations, judged=name == "judged")
            found[name] = uvloop.run(done)
            found["read"] = collecting.read(Path(folder))
            if name == "collected":
                tell(f"round {number}: exports")
                found["exported"] = _exported(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        return found | {"bare": collecting.bare(Path(folder), log, conversations)}


def _exported(folder: Path) -> dict[str, float]:
    """Returns, by format, the conversations exported in a second of CPU."""
    [manifest] = folder.glob(f"*/{MANIFEST}")
    dataset, rates = Dataset(manifest.parent), {}
    for name in NAMES:
        began = time.process_time()
        to = folder / f"exported-{name}{''.join(find(name).suffixes[:1])}"
        try:
            counts = export(dataset, name, to, choice=ExportOptions())
        except Failure:
            # The dataset has nothing that this format holds.
            continue
        rates[name] = counts.written.total() / (time.process_time() - began)
    return rates


def grown(folder: Path, most: int) -> list[Conversation]:
    ObservedRun(folder, replace(GROWN, conversations=min(most, GROWN.conversations)), None).grow()
    shards = sorted(folder.glob(f"*/{ACCEPTED}/*.parquet"))
    batches = (batch for shard in shards for batch in pq.read_table(shard).to_batches())
    return [Conversation.FromString(serialised) for batch in batches for serialised in messages(batch)]


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    rates = table(f"{figures['conversations']:,} conversations", "a CPU second")
    for label, name in _RATES.items():
        rates.add_row(label, spread(figures[name]["per_cpu_second"]))
    for name, rate in figures["exported"].items():
        rates.add_row(f"exported as {name}", spread(rate))
    yield rates
    rest = table("", "")
    rest.add_row("seconds to read a shard", spread(figures["read"]["seconds"]))
    rest.add_row("MiB of memory over a long run", spread(figures["memory"]["rss_mib"]))
    yield rest
