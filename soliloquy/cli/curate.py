"""`soliloquy curate`: a dataset without duplicates, contamination and faults, balanced and split."""

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.exchange import SPLITS, read_splits
from soliloquy.cli.options import ADDRESS, ANY_PATH, AS_JSON, COUNT, NEW_FOLDER, SEED, Choice, writing_to
from soliloquy.cli.progress import ShowCount, count
from soliloquy.cli.terminal import answer, echo
from soliloquy.curation import choosing
from soliloquy.curation.curating import FATES
from soliloquy.curation.curating import curate as curate_dataset
from soliloquy.curation.strata import STRATA
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.extensions import check_installed


@click.command(cls=Command)
@click.argument("folder", metavar="DIR|URL")
def curate(
    *,
    out: Path = setting("The folder for the curated dataset.", type=NEW_FOLDER),
    benchmarks: tuple[Path, ...] = setting(
        "A benchmark, as JSONL, CSV or Parquet: drop conversations that hold a text of it; may be repeated.",
        "--benchmark",
        type=ANY_PATH,
    ),
    per_problem: int | None = setting("Keep at most N conversations about a problem.", type=COUNT, metavar="N"),
    sample: int | None = setting("Keep N conversations, spread evenly with --balance.", type=COUNT, metavar="N"),
    balance: tuple[str, ...] = setting(
        "Spread the sample evenly over this; may be repeated.", type=Choice(list(STRATA))
    ),
    seed: int = SEED,
    splits: str | None = SPLITS,
    ray: str | None = setting("The head of a Ray cluster.  [default: Ray on this machine]", type=ADDRESS),
    as_json: bool = AS_JSON,
    folder: str,
) -> int:
    """Write a dataset of what is worth training on.

    Drops conversations that hold a text of a benchmark, that break a rule of their recipe or that its judge would not
    keep, and those that repeat an earlier one word for word or nearly so. With --splits, OUT has a dataset for each
    part, and all conversations about a problem and its near-duplicates are in the same one.

    OUT/curation.parquet has a row for each conversation: whether it is kept, why not, and what it repeats. The same
    command continues a run that was stopped.
    """
    if balance and sample is None:
        raise click.UsageError("--balance requires --sample")
    check_installed("curate", "ray", "pandas")
    choice = choosing.Choice(
        seed=seed, per_problem=per_problem, sample=sample, balance=balance, splits=read_splits(splits)
    )
    dataset = Dataset(folder)
    with writing_to(out, resumes=True), _Progress(dataset.count(), quiet=as_json) as progress:
        done = curate_dataset(dataset, out, benchmarks, choice, ray, progress.tell)
    kept = sum(done.parts.values())
    parts = ", ".join(f"{part} {rows:,}" for part, rows in done.parts.items())
    line = f"{kept:,} of {done.read:,} conversations in {out}" + (f": {parts}" if choice.splits else "")
    dropped = {word: rows for word, rows in done.counts.items() if word != choosing.Fate.KEPT.word}
    told = ", ".join(f"{rows:,} {word}" for word, rows in dropped.items())
    answer(
        asdict(done) | {"kept": kept, "dropped": dropped},
        [line, *([f"dropped: {told}; {out / FATES} has each of them"] if told else [])],
        as_json=as_json,
    )
    if sample is not None and kept < sample:
        echo(f"soliloquy: only {kept:,} of {sample:,} conversations are left to sample from", err=True)
        return 1
    return 0


class _Progress(ExitStack):
    """A bar for each stage."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        super().__init__()
        self._total = total
        self._quiet = quiet
        self._stage = ""
        self._show: ShowCount = lambda done, figures, fault: None

    def tell(self, stage: str, done: int) -> None:
        if stage != self._stage:
            self.close()
            self._stage = stage
            self._show = self.enter_context(count(stage, self._total, quiet=self._quiet, done=done))
        self._show(done, (), "")
