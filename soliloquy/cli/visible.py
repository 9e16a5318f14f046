"""Texts of others in a terminal, which obeys control characters."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

# Scripts and emoji need the joiners.
_LEFT = "\n\t\u200c\u200d"


def visible(value: Any) -> Any:
    """Returns a text, or all texts that a value holds, with control characters in Python's notation.

    Escapes could erase what was printed, and marks of direction change what a line seems to say.
    """
    match value:
        case str():
            return value if value.isprintable() else "".join(map(_visible, value))
        case Mapping():
            return {name: visible(held) for name, held in value.items()}
        case Sequence():
            return [visible(held) for held in value]
    return value


def _visible(character: str) -> str:
    if character in _LEFT or unicodedata.category(character) not in ("Cc", "Cf", "Cs"):
        return character
    return character.encode("unicode_escape").decode()
