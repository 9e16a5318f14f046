"""`soliloquy problems compare`: what rounds of word problems came to, beside the published models."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from services.cli.failure import Failure
from services.client.dataset import Dataset, NoDataset
from services.dataset.authored import authored

_PUBLISHED: Mapping[str, Mapping[str, float]] = tomllib.loads(
    Path(__file__).with_name("published.toml").read_text("utf-8")
)
# A narrow word for each figure.
_HEADS = {
    "written": "written",
    "ran": "ran",
    "solvable": "solv.",
    "accurate": "acc.",
    "appropriate": "app.",
    "all": "all",
    "named": "topic",
    "ran and all": "ran+all",
    "reading_grade": "grade",
    "distinct_operations": "ops",
}


@click.command()
@click.argument("folders", metavar="DIR|URL..", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def compare(*, folders: tuple[str, ...], as_json: bool) -> None:
    """Compare datasets of word problems, such as the rounds of a model, a row each.

    In per cent: whose function returned a number; of those which are solvable; of these which are accurate and
    appropriate; which are all of it, and name their topic. Here the rules judge; the published figures are teachers'.
    """
    try:
        found = {folder: authored(Dataset(folder)).as_json() for folder in folders}
    except NoDataset as none:
        raise Failure(str(none)) from none
    for folder, told in found.items():
        if not told["written"]:
            raise Failure(f"{folder} holds no word problem that was written: it takes a run of the recipe mathwell")
    if as_json:
        click.echo(json.dumps(found))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("", overflow="fold")
    for head in _HEADS.values():
        table.add_column(head, justify="right", no_wrap=True)
    for folder, told in found.items():
        table.add_row(folder, *(_shown(told[name]) for name in _HEADS))
    table.add_section()
    for model, row in _PUBLISHED.items():
        table.add_row(f"{model} (paper)", *(_shown(row.get(name)) for name in _HEADS), style="dim")
    Console(highlight=False).print(table)


def _shown(figure: Any) -> str:
    return "" if figure is None else str(figure)
