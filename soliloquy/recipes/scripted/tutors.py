"""Gives scripted tutors the wordings and the style of their persona."""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Phrasebook, Style, load_tables
from soliloquy.runtime.beside import table_beside

_STYLES: Mapping[str, Any] = table_beside(__file__, "tutors.toml")
# Changed prompts may name personas of their own.
_REMEMBERED = 64


def tutor_book(folder: Path, reading: ParsedPrompt) -> Phrasebook:
    """Returns a tutor's phrases as its persona words them; where it has none, those of the recipe or of all recipes."""
    return _book(folder, reading.tutor_persona)


@lru_cache(_REMEMBERED)
def _book(folder: Path, persona: str) -> Phrasebook:
    common = _merged(load_tables(Path(__file__).with_name("phrases")), load_tables(folder / "phrases"))
    own = load_tables(folder / "tutors").get(persona, {})
    told = _STYLES.get(persona, {})
    tutor = _merged(common["tutor"], own)
    if "asks_why" in tutor:
        tutor["asks_why"] *= told.get("asks_why", 1.0)
    return Phrasebook(common | {"tutor": tutor}, _style(told))


def _style(told: Mapping[str, Any]) -> Style:
    avoids = told.get("avoids", [])
    return Style(
        optional=told.get("optional", 1.0),
        weighed=told.get("weighed", 1),
        longest=told.get("prefers") == "long",
        avoids=re.compile("|".join(avoids)) if avoids else None,
    )


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the common table with the lists of the other in place of its own."""
    below = {key: _merged(common.get(key, {}), value) for key, value in own.items() if isinstance(value, Mapping)}
    return {**common, **own, **below}
