"""`soliloquy problems check`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from soliloquy.cli.command import Command
from soliloquy.cli.terminal import echo
from soliloquy.problems.bank.bank import FAMILIES, bank_names
from soliloquy.problems.files.problem_file import problem_faults, read_problems
from soliloquy.problems.use import use_of
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure

FAULTY = 1
# Problems to draw from each family.
_DRAWS = 200


@click.command(cls=Command)
@click.argument("source", metavar="BANK|FILE|FOLDER")
@click.pass_context
def check(context: click.Context, /, *, source: str) -> None:
    """Check the families of a bank or folder, or the problems of a file.

    A family is a TOML file, in a folder named for its topic. Checks its laws, units, numbers, mistakes and texts with
    many drawn problems, and at both ends of its ranges. Of a file it also says how many problems each recipe cannot
    use, and why.
    """
    path = FAMILIES / source if source in bank_names() else Path(source)
    if not path.exists():
        raise Failure(
            f"{source!r} is neither a file, nor a folder, nor a bank: the banks are {', '.join(bank_names())}"
        )
    families = _families(path)
    if not families and path.is_dir():
        raise Failure(f"{source} holds no families: they are TOML files, in a folder for each topic")
    found = [*_family_faults(families, path)] if families else [*problem_faults(path)]
    for fault in found:
        echo(fault)
    if found:
        context.exit(FAULTY)
    echo(f"{source}: {len(families)} families, no faults" if families else f"{source}: no faults")
    for line in () if families else _refusals(path):
        echo(line)


def _refusals(path: Path) -> Iterator[str]:
    """Yields a line for each recipe that works through given problems."""
    problems = [*read_problems(path)]
    for name in known_recipes():
        recipe = find(name)
        if recipe.topics is not None:
            continue
        yield f"{name}: {use_of(problems, recipe.refuses)}"


def _families(path: Path) -> Sequence[Path]:
    if path.is_dir():
        return sorted(path.rglob("*.toml"))
    return [path] if path.suffix == ".toml" else []


def _family_faults(families: Sequence[Path], path: Path) -> Iterator[str]:
    # Loads libraries for units and algebra, which takes seconds.
    from soliloquy.problems.bank.checks import faults

    for family in families:
        name = family.relative_to(path) if path.is_dir() else family
        yield from (f"{name}: {fault}" for fault in faults(family, draws=_DRAWS))
