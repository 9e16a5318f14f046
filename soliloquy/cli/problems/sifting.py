"""`soliloquy problems dedupe` and `split`."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import ANY_PATH, AS_JSON, COUNT, NEW_FOLDER, PROBLEM_FILE_OUT, SEED, writing_to
from soliloquy.cli.parameters import Choice, real
from soliloquy.cli.terminal import answer, echo
from soliloquy.problems.sifting import near_duplicates
from soliloquy.problems.sifting import split as sifting
from soliloquy.problems.sifting.sampling import TRAIN_SHARE
from soliloquy.problems.sifting.split import SplitShares
from soliloquy.runtime.files import refuse_foreign


@click.command(cls=Command)
@click.argument("source", metavar="FILE", type=ANY_PATH)
def dedupe(*, out: Path = PROBLEM_FILE_OUT, as_json: bool = AS_JSON, source: Path) -> None:
    """Remove problems whose question is nearly the same as an earlier one.

    The first of them stays. Questions with different numbers are different.
    """
    with writing_to(out):
        counts = near_duplicates.dedupe(source, out)
    line = f"{counts.kept} of {counts.read} problems in {out}; {counts.dropped} near-duplicates left out"
    answer(asdict(counts), [line], as_json=as_json)


@click.command(cls=Command)
@click.argument("source", metavar="FILE", type=ANY_PATH)
def split(
    *,
    out: Path = setting("The folder for the parts.", type=NEW_FOLDER),
    unseen: float | None = setting(
        "The share of the test whose problems do not occur in train, if problems have several rows.", type=real(0, 1)
    ),
    seed: int = SEED,
    stratify: str | None = setting(
        "Keep the shares within each difficulty or topic.", type=Choice(["difficulty", "topic"])
    ),
    sample: int | None = setting("Take N problems, spread evenly with --stratify.", type=COUNT, metavar="N"),
    by_solve_rate: bool = setting("Sample mostly hard problems, spread evenly over the solve rates."),
    as_json: bool = AS_JSON,
    source: Path,
) -> int:
    """Split a problem file into train and test, four rows to one.

    The hash of its id decides where a problem goes, so that adding problems moves no others. No problem of the test
    occurs in train. With --unseen, for files with several dialogues about a problem, the rest of the test is further
    dialogues about problems of train.
    """
    if by_solve_rate and (sample is None or stratify):
        raise click.UsageError("--by-solve-rate requires --sample, and cannot be used with --stratify")
    shares = SplitShares(train=TRAIN_SHARE, unseen=1.0 if unseen is None else unseen, seed=seed)
    plan = sifting.SplitPlan(shares=shares, stratify=stratify, sample=sample, by_solve_rate=by_solve_rate)
    refuse_foreign(out, sifting.DESCRIPTION)
    with writing_to(out):
        made: dict[str, Any] = sifting.split(source, out, plan)
    parts = ", ".join(f"{name} {part['rows']}" for name, part in made["parts"].items())
    answer(made, [f"{made['sampled']} of {made['problems']} problems in {out}; rows: {parts}"], as_json=as_json)
    for bin_, taken in made.get("short_bins", {}).items():
        echo(f"soliloquy: only {taken} problems have solve rates of {bin_}", err=True)
    if sample is not None and made["sampled"] < sample:
        echo(f"soliloquy: only {made['sampled']} of {sample} problems match", err=True)
        return 1
    return 0
