"""`python -m benchmarks all`."""

import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from benchmarks import machine
from benchmarks.command import AS_JSON, spread, status_line, table, wanted

# By benchmark: the arguments of a run that measures and of one that only shows that it works, or what it needs.
RUNS: Mapping[str, Mapping[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ON_KAFKA = ("pipeline", "transport", "observe")


@click.command(name="all")
@click.option("--small", is_flag=True, help="Run every benchmark that needs nothing, each for seconds.")
@AS_JSON
def all_(*, small: bool, as_json: bool) -> None:
    """Run the benchmarks that need no model weights, and show which reach their targets.

    If KAFKA_BOOTSTRAP names a broker, runs and transport are measured on Kafka too.
    """
    runs = list(runs_of("small" if small else "full", os.environ.get("KAFKA_BOOTSTRAP", "")))
    found = {}
    with status_line() as tell:
        for arguments in runs:
            tell(" ".join(arguments))
            found[" ".join(arguments)] = figures_of(arguments)
    if as_json:
        click.echo(json.dumps(found))
    else:
        Console().print(as_table(found))


def runs_of(size: str, kafka: str = "") -> Iterator[Sequence[str]]:
    for name, run in RUNS.items():
        if size in run:
            yield [name, *run[size]]
            if kafka and name in _ON_KAFKA:
                yield [name, *run[size], "--kafka", kafka]


def figures_of(arguments: Sequence[str]) -> dict[str, Any]:
    """Returns the figures of a benchmark or why it has none, and the part of the CPUs that others used meanwhile."""
    command = [sys.executable, "-m", "benchmarks", *arguments, "--json"]
    began, before = time.monotonic(), machine.busy_seconds() - _own_seconds()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    others = machine.busy_seconds() - _own_seconds() - before
    share = round(others / machine.cores() / (time.monotonic() - began), 2)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it says nothing"]
        return {"others": share, "failed": f"it ended with status {done.returncode}: {said[-1]}"}
    return {"others": share, **json.loads(done.stdout)}


def _own_seconds() -> float:
    return sum(os.times()[:4])


def as_table(found: Mapping[str, dict[str, Any]]) -> Table:
    made = table("benchmark", "CPUs that\nothers used", "target", "wanted", "measured", "")
    for arguments, figures in found.items():
        heads = iter([(arguments, f"{figures['others']:.0%}")])
        for target in figures.get("targets", ()):
            measured = spread(target["measured"])
            mark = "" if target["reached"] else "missed"
            made.add_row(*next(heads, ("", "")), target["name"], wanted(target), measured, mark)
        for head in heads:
            made.add_row(*head, figures.get("failed", "no targets; --json has its figures"), "", "", "")
    return made
