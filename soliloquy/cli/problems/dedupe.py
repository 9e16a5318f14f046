"""`soliloquy problems dedupe`."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import ANY_PATH, AS_JSON, PROBLEM_FILE_OUT, writing_to
from soliloquy.cli.terminal import echo
from soliloquy.problems.sifting import near_duplicates


@click.command(cls=Command)
@click.argument("source", metavar="FILE", type=ANY_PATH)
def dedupe(
    *,
    out: Path = PROBLEM_FILE_OUT,
    other_numbers: bool = setting("Remove what tells an earlier problem again with other numbers, too."),
    as_json: bool = AS_JSON,
    source: Path,
) -> None:
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
