"""`soliloquy problems compare`: what rounds of word problems came to, beside the published models."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from soliloquy.cli.problems.measuring import Models, measuring_options, models, near_duplicates
from soliloquy.cli.problems.published import MEASURES, VERDICTS, beside_published
from soliloquy.dataset.authored import count_authored
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.runs.failure import Failure


@click.command()
@click.argument("folders", metavar="DIR|URL..", nargs=-1, required=True)
@measuring_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def compare(
    *,
    folders: tuple[str, ...],
    perplexity: Path | None,
    bertscore: Path | None,
    references: Path | None,
    as_json: bool,
) -> None:
    """Compare datasets of word problems, such as the rounds of a model, a row each.

    In per cent: whose function returned a number; of those which are solvable; of these which are accurate and
    appropriate; which are all of it, and name their topic. Here the rules judge; the published figures are teachers'.
    What can be measured comes below: of all that returned a number, and near-duplicates of those that were kept.
    """
    measuring = models(perplexity, bertscore, references)
    try:
        found = {folder: _told(Dataset(folder), measuring) for folder in folders}
    except NoDataset as none:
        raise Failure(str(none)) from none
    for folder, told in found.items():
        if not told["written"]:
            raise Failure(f"{folder} holds no word problem that was written: it takes a run of the recipe mathwell")
    if as_json:
        click.echo(json.dumps(found))
        return
    console = Console(highlight=False)
    for heads in (VERDICTS, MEASURES):
        console.print(beside_published(found, heads))


def _told(dataset: Dataset, measuring: Models) -> dict[str, Any]:
    counted = count_authored(dataset)
    return {
        **counted.as_json(),
        **measuring.of(counted.measured.sample),
        "near_duplicates": near_duplicates(_kept(dataset)),
    }


def _kept(dataset: Dataset) -> Iterator[str]:
    for batch in dataset.batches(["problem.question"]):
        yield from (row["problem"]["question"] for row in batch.to_pylist())
