"""Counts the readings of labelled cases by outcome, and prints them as one table for all benchmarks of readers."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from soliloquy.cli.tables import table

LISTED = click.option("--list", "listed", is_flag=True, help="List what is read in another way than its label.")


@dataclass
class Readings:
    """How the cases of one kind were read."""

    counts: Counter[str] = field(default_factory=Counter)
    # The cases that were read in another way than their label, in words.
    faults: list[str] = field(default_factory=list)

    def add(self, outcomes: Iterable[str], fault: str = "") -> None:
        """Counts a case under each of its outcomes."""
        self.counts.update(outcomes)
        self.faults += [fault] if fault else []


def total(kinds: Iterable[Readings]) -> Readings:
    """Returns the sum over several kinds."""
    whole = Readings()
    for one in kinds:
        whole.counts.update(one.counts)
        whole.faults += one.faults
    return whole


def cases(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the labelled cases of a JSONL file."""
    for line in path.read_text("utf-8").splitlines():
        yield json.loads(line)


def as_counts(kinds: Mapping[str, Readings]) -> dict[str, dict[str, int]]:
    return {name: dict(readings.counts) for name, readings in kinds.items()}


def print_table(kinds: Mapping[str, Readings], columns: Sequence[str], title: str = "") -> None:
    made = table(title, *columns)
    for name, readings in kinds.items():
        made.add_row(name, *(f"{readings.counts[column]:,}" for column in columns))
    Console().print(made)


def report(kinds: Mapping[str, Readings], columns: Sequence[str], *, listed: bool, as_json: bool) -> None:
    """Prints the counts of each kind, and on request the cases that were read in another way than their label."""
    if as_json:
        click.echo(json.dumps(as_counts(kinds)))
        return
    print_table(kinds, columns)
    for fault in dict.fromkeys(total(kinds.values()).faults) if listed else ():
        click.echo(fault)
