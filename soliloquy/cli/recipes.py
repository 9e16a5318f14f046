"""`soliloquy recipes`: the recipes that are installed, and a package for another."""

import re
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree, ignore_patterns

import click

from soliloquy.cli.command import Group, setting
from soliloquy.cli.options import NEW_FOLDER, Choice, writing_to
from soliloquy.cli.service_options import LANGUAGE
from soliloquy.cli.tables import plain_table
from soliloquy.cli.terminal import echo, open_console
from soliloquy.recipes.checks import further_checks
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.prompts import own_texts
from soliloquy.recipes.recipe import find
from soliloquy.runtime.extensions import is_ours
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import refuse_foreign
from soliloquy.runtime.retry import Refused

_NAME = re.compile(r"[a-z][a-z0-9_]*")
# The example: in a wheel beside this module, in a checkout at its root.
_EXAMPLES = (Path(__file__).with_name("example"), Path(__file__).parents[2] / "examples" / "recipe")
_BUILT = ignore_patterns("*_pb2*", "__pycache__", ".*_cache", "*.egg-info", "dist")


@click.group(cls=Group)
def recipes() -> None:
    """List the installed recipes, begin one of your own, or write out the prompts of one."""


@recipes.command("list")
def list_() -> None:
    """Print the installed recipes, and why one cannot be used."""
    rows = ((name, package, _state(name)) for name, package in known_recipes().items())
    open_console().print(plain_table("recipe", "package", "", rows=rows))


@recipes.command()
@click.argument("name")
def new(name: str) -> None:
    """Write a package with a recipe NAME into a new folder NAME.

    It is a copy of examples/recipe, runs at once, and is yours to change.
    """
    if not _NAME.fullmatch(name):
        raise click.UsageError(f"invalid name {name!r}: use small letters, digits and underscores")
    if name in known_recipes() or find_spec(_package(name)):
        raise Failure(f"there is a recipe {name!r} or a package {_package(name)}: choose another name")
    folder = Path(name)
    if folder.exists():
        raise Failure(f"{folder} exists: choose another name, or run this elsewhere")
    package = write_package(name, folder)
    echo(f"""\
{folder} holds the recipe {name}. Try it:
  pip install -e {folder}
  soliloquy generate --recipe {name} --problems {package}/problems.jsonl --conversations 4 --out dataset""")


@recipes.command()
@click.argument("name", metavar="RECIPE", type=Choice(list(known_recipes())))
def prompts(
    name: str,
    *,
    out: Path = setting("Folder for the files.", type=NEW_FOLDER),
    language: str | None = LANGUAGE,
) -> None:
    """Write the prompts of RECIPE into a folder, to be changed.

    `soliloquy generate --prompts DIR` runs with the files of the folder; a prompt whose file is deleted stays the
    recipe's own. Keep every $slot.
    """
    refuse_foreign(out)
    with writing_to(out):
        out.mkdir(parents=True, exist_ok=True)
        files = [(out / file).write_text(text, "utf-8") for file, text in own_texts(name, language or "").items()]
    echo(f"{out} holds the {len(files)} prompts of {name}: change them, and generate with --prompts {out}")


def check_recipes(*, ours: bool = True) -> None:
    """Loads every recipe and its prompts, or those of other packages; a bad one ends a command before anything runs."""
    further_checks()
    for name, package in known_recipes().items():
        if ours or not is_ours(package):
            find(name).fingerprints({})


def write_package(name: str, folder: Path) -> Path:
    """Copies the example under another name and returns the folder of its Python package."""
    copytree(next(filter(Path.exists, _EXAMPLES)), folder, ignore=_BUILT)
    package = (folder / "socratic_debugging").rename(folder / _package(name))
    for path in (path for path in folder.rglob("*") if path.is_file()):
        path.write_text(_renamed(path.read_text("utf-8"), name), "utf-8")
        if path.stem == "debugging":
            path.rename(path.with_stem(name))
    return package


def _renamed(text: str, name: str) -> str:
    package = _package(name)
    text = text.replace("socratic_debugging", package).replace("socratic-debugging", package.replace("_", "-"))
    return re.sub(r"(?<!Socratic )\bdebugging\b", name, text)


def _package(name: str) -> str:
    return name if name.endswith("_recipe") else f"{name}_recipe"


def _state(name: str) -> str:
    try:
        recipe = find(name)
        recipe.fingerprints({})
    except (Refused, Failure) as bad:
        return str(bad)
    return recipe.title
