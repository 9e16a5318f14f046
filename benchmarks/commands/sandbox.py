"""`python -m benchmarks sandbox`."""

from collections.abc import Iterator
from typing import Any

import click
import uvloop
from rich.console import Console, RenderableType
from rich.table import Table

from benchmarks.commands.tables import latency, machine_line, rounds_line, show, spread, table, targets_table, three
from benchmarks.executor.mixes import WrongResult, mixes
from benchmarks.executor.sandbox import measure
from services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy.runs.failure import Failure

_MIXES = mixes()
_ALL = "all"
_DEFAULT_SECONDS = 10.0


@click.command()
@click.option(
    "--mix",
    default=_ALL,
    show_default=True,
    type=click.Choice([*_MIXES, _ALL]),
    help="One of them leaves out what is no matter of load: boot, memory, kills.",
)
@click.option(
    "--seconds",
    default=_DEFAULT_SECONDS,
    show_default=True,
    type=click.FloatRange(min=1),
    help="For each mix; single-use takes twice that.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def sandbox(*, mix: str, seconds: float, as_json: bool) -> None:
    """Measure the sandbox, and a plain subprocess per job beside it.

    Every result is compared with what it must be: a wrong one ends the benchmark.
    """
    chosen = list(_MIXES.values()) if mix == _ALL else [_MIXES[mix]]
    progress = Console(stderr=True)
    try:
        with progress.status("booting") as status:
            figures = uvloop.run(measure(chosen, seconds=seconds, whole=mix == _ALL, tell=status.update))
    except (SandboxUnavailable, WrongResult) as error:
        raise Failure(str(error)) from error
    show(figures, _parts, as_json=as_json)


def _parts(figures: dict[str, Any]) -> Iterator[RenderableType]:
    machine = figures["machine"]
    yield machine_line(machine, f"runsc {machine['runsc']} ({machine['isolation']})")
    yield _load(figures["mixes"])
    yield targets_table(figures["targets"])
    yield rounds_line(figures["rounds"])


def _load(measured: dict[str, Any]) -> Table:
    load = table(
        "",
        "jobs/s a core",
        "CPU ms\na job",
        "p50, p99 ms\none caller a core",
        "p50, p99 ms\nhalf load",
        "of a plain\nsubprocess",
    )
    for name, figures in measured.items():
        full, beside = figures["saturated"], figures.get("times_subprocess")
        load.add_row(
            name,
            spread(full["jobs_per_second_a_core"]),
            three(full["cpu_ms_a_job"]["median"]),
            latency(figures["one_caller_a_core"]),
            latency(figures["half_load"]),
            f"{three(beside['jobs_per_second']['median'])} times" if beside else "",
        )
    return load
