"""Finds the packages of recipes and their parts by name, without importing the recipes."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from soliloquy.runtime.extensions import BadPackage, Extensions, installed_entry_points
from soliloquy.runtime.failure import Failure, Refused


class UnknownRecipe(Failure, Refused):
    """There is no recipe of this name."""


def _ours() -> Iterator[tuple[str, str]]:
    """Yields our recipes: the folders here that have a `prompts` folder."""
    for folder in sorted(Path(__file__).parent.iterdir()):
        if (folder / "prompts").is_dir():
            yield folder.name, f"soliloquy.recipes.{folder.name}"


# The recipe of conversations that name none, such as imported ones.
DEFAULT = "soliloquy"
RECIPES = Extensions("recipe", "soliloquy.recipes", _ours)


def known_recipes() -> Mapping[str, str]:
    """Maps each recipe's name to its package."""
    return {name: packages[0] for name, packages in sorted(RECIPES.claims.items())}


def package(name: str) -> str:
    """Raises UnknownRecipe, or BadPackage for a name that several packages claim."""
    if name not in RECIPES.claims:
        raise UnknownRecipe(f"there is no recipe {name!r}; known recipes: {', '.join(known_recipes())}")
    return RECIPES.value(name)


def packages(recipe: str) -> Sequence[str]:
    """Returns the recipe's package, and those that add parts to it from above, such as its evaluation."""
    added = installed_entry_points().select(group="soliloquy.recipe_parts", name=recipe)
    return [*dict.fromkeys([package(recipe), *(point.value for point in added)])]


def module(recipe: str, name: str) -> str | None:
    """Returns the full name of a part of a recipe; None if it has no such part."""
    try:
        return next((found for each in packages(recipe) if _exists(found := f"{each}.{name}")), None)
    except (BadPackage, UnknownRecipe):
        return None


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except Exception:  # What a stranger's package raises is its own affair until somebody asks for its recipe.
        return False


def has_part(recipe: str, name: str) -> bool:
    return module(recipe, name) is not None


def part(recipe: str, name: str) -> ModuleType | None:
    """Imports a part of a recipe that only some commands need, such as `formats`; None if it has no such part."""
    found: ModuleType | None = load(recipe, name, ModuleType) if has_part(recipe, name) else None
    return found


def load(recipe: str, name: str, wanted: Any) -> Any:
    """Imports a module of a recipe, or an object of it; raises BadPackage if it does not load."""
    inside, colon, attribute = name.partition(":")
    place = module(recipe, inside) or f"{package(recipe)}.{inside}"
    return RECIPES.load(recipe, wanted, place=f"{place}{colon}{attribute}")


def folder(recipe: str) -> Path:
    """Returns the folder of a recipe's package without importing the recipe."""
    found = find_spec(package(recipe))
    if found is None or found.origin is None:
        raise BadPackage(f"recipe {recipe}: there is no package {package(recipe)}: install it again, or uninstall it")
    return Path(found.origin).parent
