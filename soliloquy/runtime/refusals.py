"""Tells when a model declines to answer in words."""

import re
import tomllib
from pathlib import Path

from soliloquy.runtime.answers import Unreadable

_PATTERNS = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text("utf-8"))["refusals"]
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
