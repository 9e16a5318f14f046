"""Texts of others in a terminal, which obeys control characters."""

import json
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


def json_line(value: Any) -> str:
    """Returns JSON whose text says the same and holds no control character."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else "".join(map(_json_visible, text))


def _json_visible(character: str) -> str:
    return json.dumps(character)[1:-1] if _is_control(character) else character


def _visible(character: str) -> str:
    return character.encode("unicode_escape").decode() if _is_control(character) else character


def _is_control(character: str) -> bool:
    return character not in _LEFT and unicodedata.category(character) in ("Cc", "Cf", "Cs")
