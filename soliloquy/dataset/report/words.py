"""Collects the readable names of a recipe's labels, for the report and the console."""

from typing import Any

from soliloquy.dataset.statistics import LETTERS, STATE_LETTERS
from soliloquy.recipes.recipe import Recipe


def words_of(recipe: Recipe) -> dict[str, Any]:
    return {**recipe.words, "letters": LETTERS, "state_letters": STATE_LETTERS, "agreeing": recipe.agreeing}
