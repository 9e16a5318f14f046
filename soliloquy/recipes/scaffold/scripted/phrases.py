"""What the recipe's scripted speakers say: the files of `phrases/`."""

from functools import cache
from pathlib import Path

from soliloquy.recipes.scripted.phrasebook import Phrasebook, tables_in


@cache
def book() -> Phrasebook:
    return Phrasebook(tables_in(Path(__file__).with_name("phrases")))
