"""Loads the phrases of the scripted speakers: `phrases/`, and `voices/` by persona."""

from functools import cache
from pathlib import Path

from soliloquy.recipes.scripted.phrasebook import Phrasebook, load_tables


@cache
def book() -> Phrasebook:
    folder = Path(__file__).parent
    return Phrasebook(load_tables(folder / "phrases") | {"voices": load_tables(folder / "voices")})
