"""`soliloquy bench`: measures this machine."""

import json
from collections.abc import Iterator
from typing import Any

import click
import uvloop
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from services.cli.failure import Failure
from services.executor.bench.mixes import WrongResult, mixes
from services.executor.bench.sandbox import measure
from services.executor.gvisor.runsc import SandboxUnavailable

_MIXES = mixes()
_ALL = "all"
_DEFAULT_SECONDS = 10.0


@click.group()
def bench() -> None:
    """Measure this machine."""


@bench.command()
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
    if as_json:
        click.echo(json.dumps(figures))
        return
    for part in _parts(figures):
        Console().print(part)


def _parts(figures: dict[str, Any]) -> Iterator[RenderableType]:
    machine = figures["machine"]
    yield Text(
        f"{machine['cores']} cores of {machine['cpu']}, Linux {machine['kernel']}, Python {machine['python']}, "
        f"runsc {machine['runsc']} ({machine['isolation']}), load {machine['load_at_start']} at the start"
    )
    yield _load(figures["mixes"])
    yield _targets(figures["targets"])
    yield Text(f"Medians of {figures['rounds']} rounds, their lowest and highest in brackets.", style="dim")


def _load(measured: dict[str, Any]) -> Table:
    table = Table("", "jobs/s a core", "CPU ms\na job", "p50, p99 ms\none caller a core", "p50, p99 ms\nhalf load")
    table.add_column("of a plain\nsubprocess", justify="right")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, figures in measured.items():
        full, beside = figures["saturated"], figures.get("times_subprocess")
        table.add_row(
            name,
            _spread(full["jobs_per_second_a_core"]),
            _three(full["cpu_ms_a_job"]["median"]),
            _latency(figures["one_caller_a_core"]),
            _latency(figures["half_load"]),
            f"{_three(beside['jobs_per_second']['median'])} times" if beside else "",
        )
    return table


def _targets(judged: list[dict[str, Any]]) -> Table:
    table = Table("target", "wanted", "measured", "")
    for target in judged:
        wanted = f"at least {target['at_least']}" if "at_least" in target else f"at most {target['at_most']}"
        mark = Text("reached", style="green") if target["reached"] else Text("missed", style="bold red")
        table.add_row(target["name"], wanted, _spread(target["measured"]), mark)
    return table


def _spread(figure: dict[str, float]) -> str:
    return f"{_three(figure['median'])} ({_three(figure['min'])}-{_three(figure['max'])})"


def _latency(figures: dict[str, Any]) -> str:
    return f"{_three(figures['p50_ms']['median'])}, {_three(figures['p99_ms']['median'])}"


def _three(figure: float) -> str:
    """Three digits, or as many as a larger number has."""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"
