"""Shared by the commands of all benchmarks: options, a status line, and tables."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from soliloquy.cli.tables import table as table

# Shows what is being measured.
Tell = Callable[[str], None]
Command = Callable[..., Any]

_SOLILOQUY = Path(sys.executable).with_name("soliloquy")

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")


def rounds_option(default: int) -> Callable[[Command], Command]:
    return click.option(
        "--rounds",
        default=default,
        show_default=True,
        type=click.IntRange(min=1),
        help="Measure this often and report the median.",
    )


def generated(options: Sequence[str]) -> str:
    """Returns what `soliloquy generate` prints; raises ClickException with the last line of one that fails."""
    done = subprocess.run([_SOLILOQUY, "generate", *options], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines() or ["it says nothing"]
        status = f"status {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
        raise click.ClickException(f"soliloquy generate {shlex.join(options)} ended with {status}: {reason[-1]}")
    return done.stdout


@contextmanager
def status_line() -> Iterator[Tell]:
    """Shows on standard error what is being measured."""
    with Console(stderr=True).status("starting") as status:
        yield status.update


def show(
    figures: dict[str, Any], tables: Callable[[dict[str, Any]], Iterable[RenderableType]], *, as_json: bool
) -> None:
    """Prints the figures as one JSON object, or as tables between the machine they are from and their targets."""
    if as_json:
        click.echo(json.dumps(figures))
        return
    console = Console()
    console.print(_machine_line(figures["machine"]))
    for each in tables(figures):
        console.print(each)
    if figures["targets"]:
        console.print(_targets_table(figures["targets"]))
    console.print(_rounds_line(figures["rounds"]))


def _machine_line(machine: dict[str, Any]) -> Text:
    facts = [
        f"{machine['cores']} cores of {machine['cpu']}",
        f"Linux {machine['kernel']}",
        f"Python {machine['python']}",
        *([f"runsc {machine['runsc']} ({machine['isolation']})"] if "runsc" in machine else []),
        f"load {machine['load_at_start']} at the start",
    ]
    return Text(", ".join(facts))


def _targets_table(targets: Sequence[dict[str, Any]]) -> Table:
    made = Table("target", "wanted", "measured", "")
    for target in targets:
        mark = Text("reached", style="green") if target["reached"] else Text("missed", style="bold red")
        made.add_row(target["name"], wanted(target), spread(target["measured"]), mark)
    return made


def wanted(target: dict[str, Any]) -> str:
    return f"at least {target['at_least']:,}" if "at_least" in target else f"at most {target['at_most']:,}"


def _rounds_line(rounds: int) -> Text:
    if rounds == 1:
        return Text("Figures of one round.", style="dim")
    return Text(f"Medians of {rounds} rounds, with the lowest and the highest in brackets.", style="dim")


def spread(figure: dict[str, float]) -> str:
    median = three_digits(figure["median"])
    if figure["min"] == figure["max"]:
        return median
    return f"{median} ({three_digits(figure['min'])}-{three_digits(figure['max'])})"


def three_digits(figure: float) -> str:
    """Rounds to three digits, and larger numbers to integers."""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"
