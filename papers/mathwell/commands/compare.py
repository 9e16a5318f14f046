"""`soliloquy problems compare`."""

import json
from collections.abc import Iterator
from typing import Any

import click

from soliloquy.cli.command import Command
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.terminal import echo, open_console
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.failure import Failure
from soliloquy_papers.mathwell.commands.measuring import (
    MEASURES,
    VERDICTS,
    MeasuringModels,
    beside_published,
    measuring_options,
    repetition,
    told_repetition,
)
from soliloquy_papers.mathwell.figures.authored import count_authored


@click.command(cls=Command)
@click.argument("folders", metavar="DIR|URL..", nargs=-1, required=True)
@measuring_options
def compare(*, as_json: bool = AS_JSON, folders: tuple[str, ...], measuring: MeasuringModels) -> None:
    """Compare datasets of word problems with each other and with the models of the MATHWELL paper.

    The first table shows, in per cent, how many programs return a number; how many of those problems are solvable; how
    many of these are accurate and appropriate; and how many are all of it and name their topic. Rules judge our
    problems, teachers judged the published ones. The second table measures all problems whose program returns a number.
    Of the accepted ones it counts near-duplicates, those that tell another one again with other numbers, and the
    different programs.
    """
    found = {}
    for folder in folders:
        dataset = Dataset(folder)
        if dataset.recipe != "mathwell" or not (told := _measures_of(dataset, measuring))["written"]:
            raise Failure(f"{folder} holds no written word problems: use a dataset of the recipe mathwell")
        found[folder] = told
    if as_json:
        echo(json.dumps(found))
        return
    console = open_console()
    for heads in (VERDICTS, MEASURES):
        console.print(beside_published(found, heads))
    for folder, told in found.items():
        echo(told_repetition(folder, told))


def _measures_of(dataset: Dataset, measuring: MeasuringModels) -> dict[str, Any]:
    counted = count_authored(dataset)
    return {**counted.as_json(), **measuring.measures(counted.measured.sample), **repetition(_written(dataset))}


def _written(dataset: Dataset) -> Iterator[tuple[str, str]]:
    for batch in dataset.batches(["problem.question", "problem.solution"]):
        yield from ((row["problem"]["question"], row["problem"]["solution"]) for row in batch.to_pylist())
