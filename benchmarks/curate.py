"""`python -m benchmarks curate`."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq
from rich.console import RenderableType

from benchmarks import machine
from benchmarks.command import AS_JSON, Tell, show, spread, status_line, table
from benchmarks.figures import judged, merged
from benchmarks.planted_repeats import write_dataset
from benchmarks.processes import command, cpu_seconds, family, resident_mib, stats
from soliloquy.curation.choosing import Fate
from soliloquy.curation.curating import FATES

_TARGETS = Path(__file__).with_suffix(".toml")
_REPEATED = {Fate.EXACT_DUPLICATE.word, Fate.NEAR_DUPLICATE.word}
_LOOK_SECONDS = 1.0


@click.command()
@click.option("--conversations", default=20_000, show_default=True, type=click.IntRange(min=100), help="Their number.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the datasets go; a million take 12 GB.  [default: a temporary folder]",
)
@AS_JSON
def curate(*, conversations: int, folder: Path | None, as_json: bool) -> None:
    """Measure curation.

    One conversation in a hundred repeats an earlier one, word for word or with one word in fifty replaced, and one
    holds a text of a benchmark with one word in twenty replaced and its numbers in another form. As many hold half of
    an earlier one, or a text of the benchmark with other numbers, which are not to be dropped.
    """
    with status_line() as tell, tempfile.TemporaryDirectory(dir=folder) as place:
        figures = _measure(Path(place), conversations, tell)
    show(figures, tables, as_json=as_json)


def _measure(folder: Path, conversations: int, tell: Tell) -> dict[str, Any]:
    tell("writing conversations")
    source, benchmark, out = folder / "source", folder / "benchmark.jsonl", folder / "out"
    planted = write_dataset(source, benchmark, conversations)
    tell("curating")
    began = time.perf_counter()
    run = ["curate", str(source), "--out", str(out), "--benchmark", str(benchmark), "--splits", "train=0.9,test=0.1"]
    code = "from soliloquy.cli.main import main; main()"
    memory, cpu = {"driver_mib": 0.0, "workers_mib": 0.0}, dict[int, float]()
    with subprocess.Popen([sys.executable, "-c", code, *run], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            time.sleep(_LOOK_SECONDS)
            known = stats()
            if process.pid in known:
                memory["driver_mib"] = max(memory["driver_mib"], resident_mib(known[process.pid]))
            members = family([process.pid], known) & known.keys()
            cpu |= {pid: cpu_seconds(known[pid]) for pid in members}
            workers = [pid for pid in members if command(pid).startswith(b"ray::")]
            memory["workers_mib"] = max(memory["workers_mib"], *(resident_mib(known[pid]) for pid in workers), 0.0)
    if process.returncode:
        raise click.ClickException(f"soliloquy curate ended with status {process.returncode}")
    seconds = time.perf_counter() - began
    fates = pq.read_table(out / FATES, columns=["id", "fate"])
    dropped: dict[str, set[str]] = {}
    for name, fate in zip(fates["id"].to_pylist(), fates["fate"].to_pylist(), strict=True):
        dropped.setdefault(fate, set()).add(name)
    repeated = set[str]().union(*(dropped.get(fate, set()) for fate in _REPEATED))
    contaminated = dropped.get(Fate.CONTAMINATED.word, set())
    found = {
        "per_second": conversations / seconds,
        "seconds": seconds,
        "cpu_seconds": sum(cpu.values()),
        "memory": memory,
        # A repetition of what is contaminated is contaminated.
        "duplicates": _agreement(planted.duplicates - contaminated, repeated),
        "contaminations": _agreement(planted.contaminations, contaminated - planted.duplicates),
    }
    figures: dict[str, Any] = {
        "machine": machine.facts(),
        "rounds": 1,
        "conversations": conversations,
        **merged([found]),
    }
    return figures | {"targets": judged(figures, _TARGETS)}


def _agreement(planted: Collection[str], found: Collection[str]) -> dict[str, float]:
    right = len({*planted} & {*found})
    return {"recall": right / max(len(planted), 1), "precision": right / max(len(found), 1)}


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    shown = table(f"{figures['conversations']:,} conversations", "")
    shown.add_row("seconds", spread(figures["seconds"]))
    shown.add_row("seconds of CPU, Ray's own processes too", spread(figures["cpu_seconds"]))
    for name, title in {"driver_mib": "MiB of the command", "workers_mib": "MiB of its largest worker"}.items():
        shown.add_row(title, spread(figures["memory"][name]))
    yield shown
