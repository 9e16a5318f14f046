"""What is there of an answer that is still being written."""

import json
import re

# A name or a text of an object: the closing quote is missing where it is still being written.
_TEXT = re.compile(r'"(?P<inside>(?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*)(?P<end>"?)')
_OTHER = re.compile(r"\s*(?:-?[\d.eE+-]+|true|false|null)\s*(?=[,}])")
_BLANK = re.compile(r"\s*")
# Half of a character that JSON writes in two.
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}$")


def field_so_far(raw: str, field: str) -> str:
    """As much of a text field as an object in JSON holds so far; empty where only the whole can be read."""
    at = raw.find("{") + 1
    while at:
        name = _TEXT.match(raw, _behind_blanks(raw, at))
        if name is None or not name["end"]:
            return ""
        at = _behind_blanks(raw, name.end())
        if raw[at : at + 1] != ":":
            return ""
        at = _behind_blanks(raw, at + 1)
        value = _TEXT.match(raw, at)
        if value and _decoded(name["inside"]) == field:
            return _decoded(_HALF.sub("", value["inside"]))
        if value and not value["end"]:
            return ""
        passed = value or _OTHER.match(raw, at)
        if passed is None:
            return ""
        at = _behind_blanks(raw, passed.end())
        if raw[at : at + 1] != ",":
            return ""
        at += 1
    return ""


def _behind_blanks(raw: str, at: int) -> int:
    found = _BLANK.match(raw, at)
    return found.end() if found else at


def _decoded(inside: str) -> str:
    """Line breaks as they are, which models do not always escape."""
    try:
        return str(json.loads(f'"{inside}"', strict=False))
    except ValueError:
        return ""
