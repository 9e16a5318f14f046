"""What the recipe's scripted speakers say: the files of `phrases/`, and of `voices/` by persona."""

from functools import cache
from pathlib import Path

from soliloquy.recipes.scripted.phrasebook import Phrasebook, tables_in


@cache
def book() -> Phrasebook:
    folder = Path(__file__).parent
    return Phrasebook(tables_in(folder / "phrases") | {"voices": tables_in(folder / "voices")})
