"""A benchmark's figures, for a program or for a person to read."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text


def show(
    figures: dict[str, Any], parts: Callable[[dict[str, Any]], Iterable[RenderableType]], *, as_json: bool
) -> None:
    """All of them as one JSON object, or the parts that are made of them for people."""
    if as_json:
        click.echo(json.dumps(figures))
        return
    for part in parts(figures):
        Console().print(part)


def machine_line(machine: dict[str, Any], *more: str) -> Text:
    facts = [
        f"{machine['cores']} cores of {machine['cpu']}",
        f"Linux {machine['kernel']}",
        f"Python {machine['python']}",
    ]
    return Text(", ".join([*facts, *more, f"load {machine['load_at_start']} at the start"]))


def table(*columns: str) -> Table:
    """The first column names, the others count."""
    made = Table(*columns)
    for column in made.columns[1:]:
        column.justify = "right"
    return made


def targets_table(judged: Sequence[dict[str, Any]]) -> Table:
    made = Table("target", "wanted", "measured", "")
    for target in judged:
        wanted = f"at least {target['at_least']:,}" if "at_least" in target else f"at most {target['at_most']:,}"
        mark = Text("reached", style="green") if target["reached"] else Text("missed", style="bold red")
        made.add_row(target["name"], wanted, spread(target["measured"]), mark)
    return made


def rounds_line(rounds: int) -> Text:
    if rounds == 1:
        return Text("Figures of one round.", style="dim")
    return Text(f"Medians of {rounds} rounds, their lowest and highest in brackets.", style="dim")


def spread(figure: dict[str, float]) -> str:
    median = three(figure["median"])
    if figure["min"] == figure["max"]:
        return median
    return f"{median} ({three(figure['min'])}-{three(figure['max'])})"


def latency(figures: dict[str, Any]) -> str:
    return f"{three(figures['p50_ms']['median'])}, {three(figures['p99_ms']['median'])}"


def three(figure: float) -> str:
    """Three digits, or as many as a larger number has."""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"
