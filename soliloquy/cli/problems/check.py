from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import click

from soliloquy.cli.command import Command
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.terminal import answer
from soliloquy.problems.bank.bank import FAMILIES, bank_names
from soliloquy.problems.files.problem_file import problem_faults, read_problems
from soliloquy.problems.use import Use, use_of
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure
from soliloquy.standin.speakers import why_unusable

# Problems to draw from each family.
_DRAWS = 200
# Trying the scripted model takes milliseconds a problem, so it tries only the first ones.
_FORESEEN = 2_000


@click.command(cls=Command)
@click.argument("source", metavar="BANK|FILE|FOLDER")
def check(*, as_json: bool = AS_JSON, source: str) -> int:
    """Check the families of a bank or folder, or the problems of a file.

    A family is a TOML file, in a folder named for its topic. Checks its laws, units, numbers, mistakes and texts with
    many drawn problems, and at both ends of its ranges. In a file each number of a solution needs a source: the
    question, an earlier result, or a constant with its role. One that contradicts its source is a fault; how many
    others are open is said with the first of them. Of a file it also says how many problems each recipe cannot use,
    and why; with --json each of them by its place.
    """
    path = FAMILIES / source if source in bank_names() else Path(source)
    if not path.exists():
        raise Failure(
            f"{source!r} is neither a file, nor a folder, nor a bank: the banks are {', '.join(bank_names())}"
        )
    families = _families(path)
    if not families and path.is_dir():
        raise Failure(f"{source} holds no families: they are TOML files, in a folder for each topic")
    doubts: list[str] = []
    found = [*_family_faults(families, path)] if families else [*problem_faults(path, doubts.append)]
    uses = {} if families or found else dict(_uses(path))
    lines = [*found, *doubts]
    if not found:
        unread = f" in what could be read; problems with open numbers: {len(doubts)}" if doubts else ""
        lines.append(f"{source}: {f'{len(families)} families, ' if families else ''}no faults{unread}")
    lines += [f"{name}: {use}" for name, use in uses.items()]
    refused = {name: use.refused for name, use in uses.items()}
    answer({"faults": found, "open": doubts, "refused": refused}, lines, as_json=as_json)
    return 1 if found else 0


def _uses(path: Path) -> Iterator[tuple[str, Use]]:
    """Yields what each recipe that works through given problems can use, and what only the scripted model cannot."""
    problems = [*read_problems(path)]
    for name in known_recipes():
        recipe = find(name)
        if recipe.topics is not None:
            continue
        use = use_of(problems, recipe.refuses)
        yield name, use
        if (scripted := use_of(use.usable[:_FORESEEN], partial(why_unusable, name))).refused:
            yield f"{name}, scripted model", scripted


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
