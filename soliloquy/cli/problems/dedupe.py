"""`soliloquy problems dedupe`."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from soliloquy.cli.errors import writing_to
from soliloquy.cli.options import AS_JSON, NEW_FILE, PROBLEM_FILE_OUT
from soliloquy.problems.sifting import near_duplicates
from soliloquy.problems.sifting.policy import DUPLICATES


@click.command()
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@PROBLEM_FILE_OUT
@click.option(
    "--threshold",
    default=DUPLICATES.same,
    show_default=True,
    type=click.FloatRange(min=0.3, max=1),
    help="The similarity of near-duplicates: the share of word triples in common.",
)
@click.option("--ignore-numbers", is_flag=True, help="Treat questions that differ only in numbers as the same.")
@click.option("--report", type=NEW_FILE, help="Write each dropped problem and its duplicate to this JSONL file.")
@AS_JSON
def dedupe(
    *, source: Path, out: Path, threshold: float, ignore_numbers: bool, report: Path | None, as_json: bool
) -> None:
    """Remove problems whose question is nearly the same as an earlier one.

    The first of them stays. Questions with different numbers are different unless --ignore-numbers is used.
    """
    with writing_to(out):
        counts = near_duplicates.dedupe(source, out, report, threshold=threshold, ignore_numbers=ignore_numbers)
    if as_json:
        click.echo(json.dumps(asdict(counts)))
    else:
        click.echo(f"{counts.kept} of {counts.read} problems in {out}; {counts.dropped} near-duplicates left out")
