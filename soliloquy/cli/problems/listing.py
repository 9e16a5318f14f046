"""`soliloquy problems list`."""

import json
from typing import Any

import click
from rich.console import JustifyMethod
from rich.table import Table

from soliloquy.cli.command import Command
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.terminal import echo, open_console
from soliloquy.problems.bank.bank import Bank, bank_names, load_bank
from soliloquy.problems.bank.family import Family
from soliloquy.problems.files.problem_row import kind_name
from soliloquy.runtime.failure import Failure

# Columns that must not wrap, so that names can be copied.
NO_WRAP = ("bank", "topic", "family")


@click.command("list", cls=Command)
@click.argument("bank", metavar="[BANK]", required=False)
def list_(*, as_json: bool = AS_JSON, bank: str | None) -> None:
    """List the problem banks, or the families of one bank."""
    if bank is not None and bank not in bank_names():
        raise Failure(f"there is no bank {bank!r}: the banks are {', '.join(bank_names())}")
    rows = [_of_bank(load_bank(name)) for name in bank_names()] if bank is None else _families(load_bank(bank))
    if as_json:
        echo(json.dumps(rows, ensure_ascii=False))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name, value in rows[0].items():
        justify: JustifyMethod = "right" if isinstance(value, int) else "left"
        table.add_column(name, justify=justify, no_wrap=name in NO_WRAP, min_width=len(name))
    for row in rows:
        table.add_row(*(", ".join(value) if isinstance(value, list) else str(value) for value in row.values()))
    open_console().print(table)


def _of_bank(bank: Bank) -> dict[str, Any]:
    return {"bank": bank.name, "families": len(bank.names), "topics": sorted(bank.by_topic)}


def _families(bank: Bank) -> list[dict[str, Any]]:
    return [_of_family(bank.family(name)) for name in bank.names]


def _of_family(family: Family) -> dict[str, Any]:
    return {
        "topic": family.topic,
        "family": family.name,
        "difficulty": family.file.difficulty,
        "steps": [kind_name(step.outline.kind) for step in family.steps],
        "title": family.file.title,
    }
