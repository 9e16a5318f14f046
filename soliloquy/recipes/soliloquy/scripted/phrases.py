"""Loads the phrases of the scripted speakers: `phrases/`, and `voices/` by persona."""

from functools import cache
from pathlib import Path

from soliloquy.recipes.scripted import tutors
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Phrasebook, load_tables


@cache
def book() -> Phrasebook:
    folder = Path(__file__).parent
    return Phrasebook(load_tables(folder / "phrases") | {"voices": load_tables(folder / "voices")})


@cache
def voice_of(persona: str) -> Phrasebook:
    """Returns the student's phrases as a persona words them; where it has no words of its own it uses the common ones.

    `inclined` has how much likelier than others the persona is to behave in each way.
    """
    common, own = book().tables["student"], book().tables["voices"].get(persona, {})
    nested = {key: common[key] | own[key] for key in ("after", "partial") if key in own}
    return Phrasebook({"inclined": {}} | common | own | nested)


def tutor_book(reading: ParsedPrompt) -> Phrasebook:
    """Returns the phrases of the tutor whose persona the prompt names."""
    return tutors.tutor_book(Path(__file__).parent, reading)
