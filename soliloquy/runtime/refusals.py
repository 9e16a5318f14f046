"""Tells when a model declines to answer in words."""

import re

from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.beside import table_beside

_PATTERNS = table_beside(__file__, "refusals.toml")["refusals"]
_REFUSAL = re.compile("|".join(_PATTERNS), re.IGNORECASE)
# A longer text is no refusal, whatever words it has.
_MAX_CHARACTERS = 600
# How much of it a message repeats.
_MAX_EXCERPT = 120


class Refusal(Unreadable):
    """The model declines to answer."""

    def __init__(self, words: str) -> None:
        super().__init__(f"the model refuses: {' '.join(words.split())[:_MAX_EXCERPT]!r}")


def is_refusal(text: str) -> bool:
    return len(text) <= _MAX_CHARACTERS and _REFUSAL.search(text.replace("’", "'")) is not None
