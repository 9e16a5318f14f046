"""`soliloquy problems split`: train and test from a problem file, and samples of it."""

import json
from pathlib import Path
from typing import Any

import click

from soliloquy.problems.files.problem_file import BadProblemFile
from soliloquy.problems.sifting import split as sifting
from soliloquy.problems.sifting.policy import SPLIT
from soliloquy.problems.sifting.split import SplitShares
from soliloquy.runs.failure import Failure

INCOMPLETE = 1


@click.command()
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="The folder of the parts.")
@click.option(
    "--train",
    default=SPLIT.train,
    show_default=True,
    type=click.FloatRange(min=0, max=1),
    help="The share of the rows to learn from.",
)
@click.option(
    "--unseen",
    type=click.FloatRange(min=0, max=1),
    help="For files with several rows a problem: the share of the test whose problems are not in train.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="All draws follow from it.")
@click.option("--stratify", type=click.Choice(["difficulty", "topic"]), help="Keep the shares within each of them.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Take N problems; evenly with --stratify.")
@click.option("--by-solve-rate", is_flag=True, help="Sample mostly hard problems, evenly over the rates.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def split(
    context: click.Context,
    /,
    *,
    source: Path,
    out: Path,
    train: float,
    unseen: float | None,
    seed: int,
    stratify: str | None,
    sample: int | None,
    by_solve_rate: bool,
    as_json: bool,
) -> None:
    """Part a problem file into train and test.

    A problem goes where the hash of its id says, so that problems which join move no other. The problems of the test
    occur nowhere in train; with --unseen, for files with several dialogues about a problem, the rest of the test is
    further dialogues about problems of train.
    """
    if by_solve_rate and (sample is None or stratify):
        raise click.UsageError("--by-solve-rate says which problems a --sample takes, and goes without --stratify")
    shares = SplitShares(train=train, unseen=1.0 if unseen is None else unseen, seed=seed)
    plan = sifting.SplitPlan(shares=shares, stratify=stratify, sample=sample, by_solve_rate=by_solve_rate)
    try:
        made: dict[str, Any] = sifting.split(source, out, plan)
    except (BadProblemFile, sifting.CannotSplit) as unusable:
        raise Failure(str(unusable)) from unusable
    except OSError as error:
        raise Failure(f"{out} cannot be written ({error.strerror}): choose another --out") from error
    if as_json:
        click.echo(json.dumps(made))
    else:
        parts = ", ".join(f"{name} {part['rows']}" for name, part in made["parts"].items())
        click.echo(f"{made['sampled']} of {made['problems']} problems in {out}; rows: {parts}")
    for bin_, taken in made.get("short_bins", {}).items():
        click.echo(f"soliloquy: of the solve rates {bin_} there are too few: {taken} taken", err=True)
    if sample is not None and made["sampled"] < sample:
        click.echo(f"soliloquy: only {made['sampled']} of {sample} problems can be had as asked", err=True)
        context.exit(INCOMPLETE)
