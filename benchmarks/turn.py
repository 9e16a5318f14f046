"""`python -m benchmarks turn`."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from benchmarks import machine
from benchmarks.command import AS_JSON, rounds_option, show, spread, status_line, table
from benchmarks.figures import judged, merged
from benchmarks.observed_run import ObservedRun, RunRequest
from benchmarks.profiling import PROFILES, shares
from benchmarks.usage import SANDBOXES
from soliloquy.cli.command import Command

_TARGETS = Path(__file__).with_suffix(".toml")


@click.command(cls=Command)
@click.option(
    "--conversations", default=400, show_default=True, type=click.IntRange(min=1), help="Conversations of each run."
)
@rounds_option(3)
@AS_JSON
def turn(*, conversations: int, rounds: int, as_json: bool) -> None:
    """Show where the CPU time of a turn goes, by layer.

    A run on the embedded log whose model answers at once is measured from its first call to its dataset, and once more
    under cProfile, which tells how the layers share that time. It slows down layers of many small functions most.
    """
    request = RunRequest(conversations=conversations, in_flight=256, latency=((0.0, 1.0),))
    with status_line() as tell:
        measured = []
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}")
            measured.append(_by_layer(request))
    figures = {"machine": machine.facts(), "rounds": rounds, "cpu_ms_a_turn": merged(measured)}
    show(figures | {"targets": judged(figures, _TARGETS)}, tables, as_json=as_json)


def _by_layer(request: RunRequest) -> dict[str, float]:
    with ExitStack() as stack:
        plain, profiled, profiles = (Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(3))
        run = ObservedRun(plain, request, None)
        run.grow()
        cpu = run.usage.cpu_between(run.began_at, run.ended_at)
        ObservedRun(profiled, request, None, {PROFILES: str(profiles)}).grow()
        outside, turns = cpu.pop(SANDBOXES), run.turns
        found = {layer: share * sum(cpu.values()) for layer, share in shares(profiles.iterdir()).items()}
    found["sandbox"] = found.get("sandbox", 0.0) + outside
    return {name: 1000 * seconds / turns for name, seconds in {**found, "all": sum(found.values())}.items()}


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    layers = table("layer", "CPU ms a turn")
    for layer, spent in figures["cpu_ms_a_turn"].items():
        layers.add_row(layer, spread(spent))
    yield layers
