"""Finds the packages of recipes and their parts by name, without importing the recipes."""

import functools
import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from soliloquy.runtime.retry import Refused


class UnknownRecipe(Refused):
    """There is no recipe of this name."""


@functools.cache
def known_recipes() -> Mapping[str, str]:
    """Maps each recipe's name to its package: ours are the folders here that have a `prompts` folder."""
    folders = (folder.name for folder in Path(__file__).parent.iterdir() if (folder / "prompts").is_dir())
    ours = {name: f"soliloquy.recipes.{name}" for name in sorted(folders)}
    return ours | {point.name: point.value for point in entry_points(group="soliloquy.recipes")}


def package(name: str) -> str:
    try:
        return known_recipes()[name]
    except KeyError:
        raise UnknownRecipe(f"there is no recipe {name!r}; known recipes: {', '.join(known_recipes())}") from None


def part(recipe: str, name: str) -> ModuleType | None:
    """Imports a part of a recipe that only some commands need, such as `formats`; None if it has no such part."""
    module = f"{package(recipe)}.{name}"
    return importlib.import_module(module) if find_spec(module) else None


def folder(recipe: str) -> Path:
    """Returns the folder of a recipe's package without importing the recipe."""
    found = find_spec(package(recipe))
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent
