"""Collects the readable names of a recipe's labels, for the report and the console."""

from typing import Any

from soliloquy.dataset.statistics import LETTERS
from soliloquy.recipes.recipe import Recipe


def words_of(recipe: Recipe) -> dict[str, Any]:
    meanings = {column.title: column.words for column in recipe.columns.values() if column.words}
    return {"letters": LETTERS, "evaluations": recipe.evaluations, "labels": meanings, "agreeing": recipe.agreeing}
