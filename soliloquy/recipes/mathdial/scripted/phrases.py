"""The phrases of the recipe's scripted speakers."""

from functools import cache
from pathlib import Path

from soliloquy.recipes.scripted import tutors
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Phrasebook, load_tables


@cache
def book() -> Phrasebook:
    return Phrasebook(load_tables(Path(__file__).with_name("phrases")))


def tutor_book(reading: ParsedPrompt) -> Phrasebook:
    """Returns the phrases of the tutor whose persona the prompt names."""
    return tutors.tutor_book(Path(__file__).parent, reading)
