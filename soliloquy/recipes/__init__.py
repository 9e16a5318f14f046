"""Exports what programs need to use or write a recipe; soliloquy/README.md lists all of it.

Names are imported on first use: finding a recipe loads that recipe and no other.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soliloquy.recipes.packages import UnknownRecipe, known_recipes
    from soliloquy.recipes.person import Person
    from soliloquy.recipes.recipe import Lesson, Recipe, find
    from soliloquy.recipes.templates import Templates
    from soliloquy.runtime.ask import Ask, Prompt

__all__ = ["Ask", "Lesson", "Person", "Prompt", "Recipe", "Templates", "UnknownRecipe", "find", "known_recipes"]

_NAMES = {
    "soliloquy.recipes.person": ("Person",),
    "soliloquy.recipes.packages": ("UnknownRecipe", "known_recipes"),
    "soliloquy.recipes.recipe": ("Lesson", "Recipe", "find"),
    "soliloquy.recipes.templates": ("Templates",),
    "soliloquy.runtime.ask": ("Ask", "Prompt"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
