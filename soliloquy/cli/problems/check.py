"""`soliloquy problems check`: whether families keep their promises, and whether a problem file can be used."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from soliloquy.problems.bank.bank import FAMILIES, bank_names
from soliloquy.problems.files.problem_file import BadProblemFile, check_problems
from soliloquy.runs.failure import Failure

FAULTY = 1


@click.command()
@click.argument("source", metavar="BANK|FILE|FOLDER")
@click.option(
    "--draws", default=200, show_default=True, type=click.IntRange(min=1), help="Problems to draw of each family."
)
@click.pass_context
def check(context: click.Context, /, *, source: str, draws: int) -> None:
    """Check the families of a bank or folder, or the problems of a file.

    A family is a TOML file; its folder is its topic. Its laws, units, numbers, wrong ways and texts are held to what
    they promise over many draws, and over the ends of its ranges.
    """
    path = FAMILIES / source if source in bank_names() else Path(source)
    if not path.exists():
        raise Failure(
            f"{source!r} is neither a file, nor a folder, nor a bank: the banks are {', '.join(bank_names())}"
        )
    families = _families(path)
    if not families and path.is_dir():
        raise Failure(f"{source} holds no family: they are TOML files, in a folder for each topic")
    found = [*_of_families(families, path, draws)] if families else [*_of_file(path)]
    for fault in found:
        click.echo(fault)
    if found:
        context.exit(FAULTY)
    click.echo(f"{source}: {len(families)} families keep their promises" if families else f"{source}: it can be used")


def _families(path: Path) -> Sequence[Path]:
    if path.is_dir():
        return sorted(path.rglob("*.toml"))
    return [path] if path.suffix == ".toml" else []


def _of_families(families: Sequence[Path], path: Path, draws: int) -> Iterator[str]:
    # The libraries for units and algebra take seconds to load, for which no help text should wait.
    from soliloquy.problems.bank.checks import faults

    for family in families:
        name = family.relative_to(path) if path.is_dir() else family
        yield from (f"{name}: {fault}" for fault in faults(family, draws=draws))


def _of_file(path: Path) -> Iterator[str]:
    try:
        check_problems(path)
    except BadProblemFile as bad:
        yield str(bad)
