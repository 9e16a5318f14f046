"""`soliloquy problems dedupe`."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from soliloquy.cli.command import Command
from soliloquy.cli.errors import writing_to
from soliloquy.cli.options import AS_JSON, PROBLEM_FILE_OUT
from soliloquy.cli.terminal import echo
from soliloquy.problems.sifting import near_duplicates


@click.command(cls=Command)
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@PROBLEM_FILE_OUT
@click.option(
    "--other-numbers", is_flag=True, help="Remove what tells an earlier problem again with other numbers, too."
)
@AS_JSON
def dedupe(*, source: Path, out: Path, other_numbers: bool, as_json: bool) -> None:
    """Remove problems whose question is nearly the same as an earlier one.

    The first of them stays. Questions with different numbers are different, unless --other-numbers is given: then two
    problems with nearly the same words are one if their programs or steps calculate in the same way.
    """
    with writing_to(out):
        counts = near_duplicates.dedupe(source, out, other_numbers=other_numbers)
    told = f", {counts.told_again} of them with other numbers" if other_numbers else ""
    if as_json:
        echo(json.dumps(asdict(counts)))
    else:
        echo(f"{counts.kept} of {counts.read} problems in {out}; {counts.dropped} near-duplicates left out{told}")
