"""`python -m benchmarks model-client`."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import uvloop
from rich.console import Console, RenderableType

from benchmarks.commands.tables import machine_line, rounds_line, show, spread, table, targets_table
from benchmarks.model import client
from benchmarks.runtime import machine
from benchmarks.runtime.figures import merged
from benchmarks.runtime.targets import judged
from soliloquy.runs.failure import Failure

_SOLILOQUY = (sys.executable, "-c", "from soliloquy.cli.main import main; main()")
TARGETS = Path(__file__).with_name("model_client.toml")
LATENCY = "1s"
# Before a storm, and after it.
CALM_SECONDS = 15.0


@click.command()
@click.option("--calls", default=5_000, show_default=True, type=click.IntRange(min=client.IN_FLIGHT), help="Of each.")
@click.option("--storm", default=30.0, show_default=True, type=click.FloatRange(min=1), help="Seconds of 429s.")
@click.option("--rounds", default=1, show_default=True, type=click.IntRange(min=1), help="Of which the median counts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def model_client(*, calls: int, storm: float, rounds: int, as_json: bool) -> None:
    """Measure the client of hosted models, against a stand-in for one that answers after a second.

    256 calls at once: the CPU that each costs, bare aiohttp beside it; then a storm in which every second call is
    refused with a 429.
    """
    with Console(stderr=True).status("starting") as status:
        figures = measure(calls=calls, storm=storm, rounds=rounds, tell=status.update)
    show(figures, _parts, as_json=as_json)


def measure(*, calls: int, storm: float, rounds: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """With the stand-in in a process of its own."""
    facts, measured = machine.facts(), []
    for number in range(rounds):
        tell(f"round {number + 1} of {rounds}: overhead")
        with _fake() as (url, _):
            found: dict[str, Any] = {"overhead": uvloop.run(client.overhead(url, calls=calls))}
        tell(f"round {number + 1} of {rounds}: storm")
        period = CALM_SECONDS + storm
        with _fake("--throttled", "0.5", "--period", f"{period:g}s", "--storm", f"{storm:g}s") as (url, began):
            times = {"began": began + CALM_SECONDS, "ended": began + period, "after": CALM_SECONDS}
            found["storm"] = uvloop.run(client.storm(url, **times))
        measured.append(found)
    figures = {"machine": facts, "rounds": rounds, **merged(measured)}
    return figures | {"targets": judged(figures, TARGETS)}


@contextmanager
def _fake(*options: str) -> Iterator[tuple[str, float]]:
    """A stand-in in a process of its own: its URL, and when its clock began."""
    command = [*_SOLILOQUY, "model", "fake", "--http", "127.0.0.1:0", "--latency", LATENCY, *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as fake:
        try:
            assert fake.stderr
            said = fake.stderr.readline()
            if "--base-url" not in said:
                raise Failure(f"the stand-in for a hosted model did not start: {said.strip()}")
            yield said.split()[-1], time.monotonic()
        finally:
            fake.terminate()


def _parts(figures: dict[str, Any]) -> Iterator[RenderableType]:
    yield machine_line(figures["machine"])
    costs = table("256 calls at once", "CPU ms a call", "calls/s")
    for name, found in figures["overhead"].items():
        costs.add_row(name, spread(found["cpu_ms_a_call"]), spread(found["calls_per_second"]))
    yield costs
    storm = table("every second call refused", "")
    for name, measured in figures["storm"].items():
        storm.add_row(name.replace("_", " "), spread(measured))
    yield storm
    yield targets_table(figures["targets"])
    yield rounds_line(figures["rounds"])
