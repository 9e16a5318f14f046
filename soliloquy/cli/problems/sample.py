"""`soliloquy problems sample`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import COUNT, NEW_PROBLEM_FILE, SEED, writing_to
from soliloquy.cli.terminal import echo
from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.problems.bank.sampling import sample_lines
from soliloquy.runtime.atomic_file import atomic_file
from soliloquy.runtime.failure import Failure


@click.command(cls=Command)
@click.argument("bank", metavar="BANK")
def sample(
    *,
    count: int = setting("Number of problems.", type=COUNT),
    seed: int = SEED,
    topics: tuple[str, ...] = setting("Only problems of this topic; may be repeated.", "--topic"),
    out: Path | None = setting("The problem file to write.  [default: standard output]", type=NEW_PROBLEM_FILE),
    bank: str,
) -> None:
    """Draw problems from a bank into a problem file.

    The problems are spread evenly over the topics and their families, and none is drawn twice. The same options draw
    the same problems.
    """
    if bank not in bank_names():
        raise Failure(f"there is no bank {bank!r}: the banks are {', '.join(bank_names())}")
    source = load_bank(bank)
    for topic in topics:
        if topic not in source.by_topic:
            raise Failure(f"{bank} has no topic {topic!r}: its topics are {', '.join(sorted(source.by_topic))}")
    drawn = _counted(sample_lines(source, seed, count, topics), bank, count)
    if out is None:
        sys.stdout.buffer.writelines(drawn)
        return
    with writing_to(out), atomic_file(out) as file:
        file.writelines(drawn)
    echo(f"{count} problems in {out}")


def _counted(batches: Iterator[bytes], bank: str, count: int) -> Iterator[bytes]:
    found = 0
    for batch in batches:
        found += batch.count(b"\n")
        yield batch
    if found < count:
        raise Failure(f"{bank} has only {found} of {count} such problems: use a lower --count or more topics")
