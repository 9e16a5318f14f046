"""Finds the packages of recipes and their parts by name, without importing the recipes."""

import functools
import importlib
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.retry import Refused


class UnknownRecipe(Failure, Refused):
    """There is no recipe of this name."""


class BadRecipe(Failure, Refused):
    """A recipe cannot be used; the message names its package, the field, and what to do."""


@functools.cache
def known_recipes() -> Mapping[str, str]:
    """Maps each recipe's name to its package: ours are the folders here that have a `prompts` folder."""
    return {name: packages[0] for name, packages in _packages().items()}


@functools.cache
def _packages() -> Mapping[str, Sequence[str]]:
    """Maps each name to the packages that claim it, ours first."""
    folders = (folder.name for folder in Path(__file__).parent.iterdir() if (folder / "prompts").is_dir())
    found = {name: [f"soliloquy.recipes.{name}"] for name in sorted(folders)}
    for point in entry_points(group="soliloquy.recipes"):
        # An editable install beside a built one lists its entry points twice.
        if point.value not in found.setdefault(point.name, []):
            found[point.name].append(point.value)
    return found


def package(name: str) -> str:
    """Raises UnknownRecipe, or BadRecipe for a name that several packages claim."""
    known = known_recipes()
    if name not in known:
        raise UnknownRecipe(f"there is no recipe {name!r}; known recipes: {', '.join(known)}")
    if len(claimed := _packages().get(name, ())) > 1:
        raise BadRecipe(f"the packages {' and '.join(claimed)} both call a recipe {name!r}: rename or uninstall one")
    return known[name]


def has_part(recipe: str, name: str) -> bool:
    """Whether a recipe has a part; a package that does not load has none."""
    try:
        return find_spec(f"{known_recipes()[recipe]}.{name}") is not None
    except Exception:  # What a stranger's package raises is its own affair until somebody asks for its recipe.
        return False


def part(recipe: str, name: str) -> ModuleType | None:
    """Imports a part of a recipe that only some commands need, such as `formats`; None if it has no such part."""
    if not has_part(recipe, name):
        return None
    return load(recipe, name)


def load(recipe: str, name: str) -> ModuleType:
    """Imports a module of a recipe; raises BadRecipe if it does not load."""
    module = f"{package(recipe)}.{name}"
    try:
        return importlib.import_module(module)
    except Exception as error:
        if isinstance(error, Refused):
            raise
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise BadRecipe(f"recipe {recipe}: {module} does not load ({why}): correct or uninstall it") from error


def folder(recipe: str) -> Path:
    """Returns the folder of a recipe's package without importing the recipe."""
    found = find_spec(package(recipe))
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent
