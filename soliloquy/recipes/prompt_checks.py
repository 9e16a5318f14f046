"""Finds what is wrong with the files of prompts before anything is asked with them."""

import math
import re
import string
from collections.abc import Collection, Iterator, Mapping
from typing import Any

# A slot as other tools write it. LaTeX such as \frac{a}{b} is text.
_BRACES = re.compile(r"(?<![$\\\w}])(?:\{\{\s*|\{)[A-Za-z_]\w*\s*\}*")
_HEADING = re.compile(r"\[\w+\]")
_HEADINGS = ("[system]", "[user]")
# The heading of a message; splits a text into the roles and their messages.
MESSAGE = re.compile(r"^\[(system|user)\]\n", re.MULTILINE)
_NAMES = {str: "a text", float: "a number from 0", list: "a list of texts"}

# The type of a value, its choices, or the kind of each key's value; ANY stands for keys that the file may choose.
ANY = "*"
Kind = type | frozenset[str] | Mapping[str, "Kind"]


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
        if not _is_of(value, kind):
            yield f"{key}: {value!r} is not {_NAMES[kind]}"
        return
    if isinstance(kind, frozenset):
        if value not in kind:
            yield f"{key}: {value!r} is not one of {', '.join(sorted(kind))}"
        return
    if not isinstance(value, Mapping):
        yield f"{key}: {value!r} is not a table"
        return
    if not value:
        yield f"{key or 'the file'} has no entries"
    for name in (name for name in kind if name != ANY and name not in value):
        yield f"{_below(key, name)} is missing"
    for name, one in value.items():
        if name in kind or ANY in kind:
            yield from table_faults(one, kind.get(name) or kind[ANY], _below(key, name))
        else:
            yield f"{_below(key, name)} is unknown; its keys are {', '.join(kind)}"


def lost_parts(text: str, own: str) -> Iterator[str]:
    """Yields what a text lacks of the recipe's own text that it stands for."""
    before, *messages = MESSAGE.split(text)
    roles = MESSAGE.findall(own)
    if roles and before.strip():
        yield "line 1 belongs to no message: begin with [system] or [user]"
    elif "user" in roles and "user" not in messages[::2]:
        yield "[user] is missing: the model is asked by that message"
    for slot in sorted(_slots_of(own) - _slots_of(text)):
        yield f"${slot} is missing: put it where the recipe's own text has it"


def slot_faults(value: Any, own: Any, key: str = "") -> Iterator[str]:
    """Yields what keeps a table's texts from being filled in, where the recipe's own texts have slots."""
    if isinstance(own, Mapping):
        for name in (name for name in own if name in value):
            yield from slot_faults(value[name], own[name], _below(key, name))
    elif isinstance(own, str) and (slots := _slots_of(own)):
        yield from (
            f"{key}: {fault}" for check in (text_faults(value, slots), lost_parts(value, own)) for fault in check
        )


def sampling_faults(temperatures: Mapping[str, float], prompts: Collection[str]) -> Iterator[str]:
    """Yields the temperatures that no prompt has, or that stand for none."""
    for name, temperature in temperatures.items():
        if name not in prompts:
            yield f"{name} is unknown; the prompts are {', '.join(sorted(prompts))}"
        elif not temperature:
            yield f"{name}: at 0 a prompt has one answer: use more, or leave it out for the temperature of its role"


def _slots_of(text: str) -> set[str]:
    return {name for found in string.Template.pattern.finditer(text) if (name := found["named"] or found["braced"])}


def _is_of(value: Any, kind: type) -> bool:
    if kind is float:
        # 1 is a number, too.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and math.isfinite(value) and value >= 0
    if kind is list:
        return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)
    return isinstance(value, kind)


def _below(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
