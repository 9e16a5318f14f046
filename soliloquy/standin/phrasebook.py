"""Draws sentences from phrase files and combines them, unlike what the speaker has said before."""

import re
import string
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import Any

from soliloquy.texts.phrases import is_much_like

# How many wordings to try, and how many shared words make two messages too similar.
_TRIES = 12
_SAME = 0.8
# "I [got|get] it" is two wordings; "[so |]it is" is one with the word and one without.
_CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")


class Phrasebook:
    """Tables of wordings by file and situation."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self.tables = tables
        self.cue = cache(self._compile)

    def _compile(self, recipe: str, cue: str) -> re.Pattern[str]:
        return re.compile("|".join(self.tables[recipe]["cues"][cue]), re.IGNORECASE)

    def wordings(self, *path: str, **slots: str) -> list[str]:
        """Returns the wordings of a situation whose slots all have a value; choices within them are still open."""
        found: Any = self.tables
        for key in path:
            found = found[key]
        given = {slot for slot, text in slots.items() if text}
        return [text.format(**slots) for text in found if _slots_of(text) <= given]

    def one_of(self, rng: Random, *path: str, **slots: str) -> str:
        return _picked(self.wordings(*path, **slots), rng)


@lru_cache(4096)
def _slots_of(text: str) -> frozenset[str]:
    return frozenset(slot for _, slot, _, _ in string.Formatter().parse(text) if slot)


def _picked(options: Sequence[str], rng: Random) -> str:
    return _CHOICE.sub(lambda choice: rng.choice(choice[1].split("|")), rng.choice(options))


def load_tables(folder: Path) -> dict[str, Any]:
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.toml"))}


BOOK = Phrasebook(load_tables(Path(__file__).with_name("phrases")))


def spoken(parts: Sequence[Sequence[str]], rng: Random, before: Sequence[str]) -> str:
    """Composes a text of one wording of each part, unlike the speaker's earlier messages if it can."""
    text = ""
    for _ in range(_TRIES):
        text = " ".join(filter(None, (_picked(options, rng) for options in parts if options)))
        if not any(is_much_like(text, said, _SAME) for said in before):
            break
    return text
