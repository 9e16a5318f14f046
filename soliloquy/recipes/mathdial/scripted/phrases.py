"""The phrases of the recipe's scripted speakers."""

from functools import cache
from pathlib import Path

from soliloquy.recipes.scripted.phrasebook import Phrasebook, load_tables


@cache
def book() -> Phrasebook:
    return Phrasebook(load_tables(Path(__file__).with_name("phrases")))
