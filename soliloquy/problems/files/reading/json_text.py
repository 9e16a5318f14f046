"""Reads JSON, and names in plain words the faults that people make when they write it by hand."""

import json
from typing import Any, NoReturn

from soliloquy.problems.files.reading.lines import flaw_of

# The beginnings of the decoder's messages.
_WORDS = {
    "Expecting value": "a value is missing or not in quotes",
    "Expecting property name": 'a name in "double quotes" is missing',
    "Illegal trailing comma": "a comma has nothing after it",
    "Expecting ':'": "a colon is missing",
    "Expecting ','": "a comma or a closing bracket is missing",
    "Unterminated string": "a quotation mark is never closed",
    "Invalid control character": "a line break or tab is inside a text: write \\n or \\t",
    "Invalid \\escape": "a single backslash is inside a text: write two",
    "Invalid \\u": "\\u is not followed by four hexadecimal digits",
    "Extra data": "the text goes on after the object ends",
}
_LONGEST = 80


class NotJson(ValueError):
    """Says in one line why a text cannot be read as JSON."""


class _Refused(ValueError):
    """The decoder would take it."""


def parse_json(text: str, *, finite: bool = False) -> Any:
    """Raises NotJson, also for a name that an object holds twice and, if `finite`, for NaN and Infinity."""
    text = text.strip()
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse if finite else None)
    except json.JSONDecodeError as error:
        words = next((said for start, said in _WORDS.items() if error.msg.startswith(start)), error.msg)
        raise NotJson(f"not JSON: {words} (character {error.pos + 1})") from error
    except _Refused as error:
        raise NotJson(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise NotJson("not JSON that can be read: a number is too long, or brackets are too deep") from error
    if "\\u" in text and (flaw := flaw_of(json.dumps(value, ensure_ascii=False))):
        raise NotJson(f"not JSON: {flaw}")
    return value


def _refuse(constant: str) -> NoReturn:
    raise _Refused(f"not JSON: {constant} is no number of JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refused(f"{twice[:_LONGEST]!r} is there twice: remove one")
    return made
