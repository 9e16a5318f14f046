"""`soliloquy problems sample`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from soliloquy.cli.command import Command
from soliloquy.cli.errors import writing_to
from soliloquy.cli.options import COUNT, NEW_PROBLEM_FILE, SEED
from soliloquy.cli.terminal import echo
from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.problems.bank.sampling import sample_lines
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import atomic_file


@click.command(cls=Command)
@click.argument("bank", metavar="BANK")
@click.option("--count", required=True, type=COUNT, help="Number of problems.")
@SEED
@click.option("--topic", "topics", multiple=True, help="Only problems of this topic; may be repeated.")
@click.option("--out", type=NEW_PROBLEM_FILE, help="The problem file to write.  [default: standard output]")
def sample(*, bank: str, count: int, seed: int, topics: tuple[str, ...], out: Path | None) -> None:
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
