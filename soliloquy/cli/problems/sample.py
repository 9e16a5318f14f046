"""`soliloquy problems sample`: a problem file drawn from a bank."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.problems.bank.sampling import SampleRequest, sample_lines
from soliloquy.problems.files.atomic_file import atomic_file
from soliloquy.runs.failure import Failure


@click.command()
@click.argument("bank", metavar="BANK")
@click.option("--count", required=True, type=click.IntRange(min=1), help="How many problems.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="All draws follow from it.")
@click.option("--topic", "topics", multiple=True, help="Only of this topic; may be given more than once.")
@click.option(
    "--difficulty", "difficulties", multiple=True, type=click.IntRange(1, 3), help="Only so difficult; likewise."
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The problem file; else standard output.")
def sample(
    *, bank: str, count: int, seed: int, topics: tuple[str, ...], difficulties: tuple[int, ...], out: Path | None
) -> None:
    """Draw problems from a bank, evenly over its topics and their families, for `generate --problems`.

    The same options draw the same problems, and none comes twice.
    """
    if bank not in bank_names():
        raise Failure(f"there is no bank {bank!r}: the banks are {', '.join(bank_names())}")
    known = load_bank(bank).by_topic
    for topic in topics:
        if topic not in known:
            raise Failure(f"{bank} has no topic {topic!r}: its topics are {', '.join(sorted(known))}")
    wanted = SampleRequest(bank=bank, seed=seed, topics=topics, difficulties=difficulties)
    drawn = _counted(sample_lines(wanted, count), wanted, count)
    if out is None:
        sys.stdout.buffer.writelines(drawn)
        return
    try:
        with atomic_file(out) as file:
            file.writelines(drawn)
    except OSError as error:
        raise Failure(f"{out} cannot be written ({error.strerror}): choose another --out") from error
    click.echo(f"{count} problems in {out}")


def _counted(batches: Iterator[bytes], wanted: SampleRequest, count: int) -> Iterator[bytes]:
    found = 0
    for batch in batches:
        found += batch.count(b"\n")
        yield batch
    if found < count:
        raise Failure(f"{wanted.bank} holds {found} such problems, not {count}: ask for fewer, or for more topics")
