"""`soliloquy problems dedupe`: a problem file without its near-duplicates."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from soliloquy.problems.files.problem_file import BadProblemFile
from soliloquy.problems.sifting import dedupe as sifting
from soliloquy.problems.sifting.policy import DUPLICATES
from soliloquy.runs.failure import Failure


@click.command()
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The problem file.")
@click.option(
    "--threshold",
    default=DUPLICATES.same,
    show_default=True,
    type=click.FloatRange(min=0.3, max=1),
    help="How similar questions may be: the share of their word triples that they have in common.",
)
@click.option("--ignore-numbers", is_flag=True, help="Take questions that differ in their numbers only for the same.")
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), help="JSONL: what was dropped for what.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def dedupe(
    *, source: Path, out: Path, threshold: float, ignore_numbers: bool, report: Path | None, as_json: bool
) -> None:
    """Leave out problems whose question says nearly the same as an earlier one.

    The first of them is kept. Questions with different numbers are different, unless --ignore-numbers.
    """
    try:
        counts = sifting.dedupe(source, out, report, threshold=threshold, ignore_numbers=ignore_numbers)
    except BadProblemFile as unusable:
        raise Failure(str(unusable)) from unusable
    except OSError as error:
        raise Failure(f"{error.filename or out} cannot be written ({error.strerror}): choose another") from error
    if as_json:
        click.echo(json.dumps(asdict(counts)))
    else:
        click.echo(f"{counts.kept} of {counts.read} problems in {out}; {counts.dropped} near-duplicates left out")
