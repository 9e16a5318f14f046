"""Plurals: by their ending, and those that no ending tells."""

import tomllib
from pathlib import Path

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
IRREGULAR_PLURALS: frozenset[str] = frozenset(_TABLE["irregular"])


def is_plural(word: str) -> bool:
    return word.endswith("s") or word.casefold() in IRREGULAR_PLURALS
