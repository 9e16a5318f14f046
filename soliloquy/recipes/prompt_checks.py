"""Finds what is wrong with the files of prompts before anything is asked with them."""

import re
import string
from collections.abc import Collection, Iterator, Mapping
from typing import Any

# A slot as other tools write it. LaTeX such as \frac{a}{b} is text.
_BRACES = re.compile(r"(?<![$\\\w}])(?:\{\{\s*|\{)[A-Za-z_]\w*\s*\}*")
_HEADING = re.compile(r"\[\w+\]")
_HEADINGS = ("[system]", "[user]")
_NAMES = {str: "a text", float: "a number", list: "a list"}

# The type of a value, or of each key's value; the key ANY stands for keys that the file may choose.
ANY = "*"
Kind = type | Mapping[str, "Kind"]


def text_faults(text: str, slots: Collection[str]) -> Iterator[str]:
    """Yields what keeps a template from being filled in."""
    known = f"its slots are {', '.join(f'${slot}' for slot in sorted(slots)) or 'none'}"
    for found in string.Template.pattern.finditer(text):
        name = found["named"] or found["braced"]
        if name and name not in slots:
            yield f"${name} is unknown; {known}"
        elif not name and not found["escaped"]:
            yield f"line {_line(text, found.start())}: $ begins no slot: write a literal $ as $$; {known}"
    for found in _BRACES.finditer(text):
        where = f"line {_line(text, found.start())}: {found[0]!r}"
        yield f"{where} is not a slot: write one as $name, and a space behind a literal brace; {known}"
    for number, line in enumerate(text.splitlines(), start=1):
        if _HEADING.fullmatch(line) and line not in _HEADINGS:
            yield f"line {number}: {line} is not a message: begin one with {' or '.join(_HEADINGS)}"


def table_faults(value: Any, kind: Kind, key: str = "") -> Iterator[str]:
    """Yields the keys of a table that are missing or unknown, and values of another type."""
    if isinstance(kind, type):
        # 1 is a number, too.
        if not isinstance(value, (kind, int) if kind is float else kind) or isinstance(value, bool):
            yield f"{key}: {value!r} is not {_NAMES[kind]}"
        return
    if not isinstance(value, Mapping):
        yield f"{key}: {value!r} is not a table"
        return
    for name in (name for name in kind if name != ANY and name not in value):
        yield f"{_below(key, name)} is missing"
    for name, one in value.items():
        if name in kind or ANY in kind:
            yield from table_faults(one, kind.get(name) or kind[ANY], _below(key, name))
        else:
            yield f"{_below(key, name)} is unknown; its keys are {', '.join(kind)}"


def _below(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
