"""Rows from JSON: an object per line, one array of objects, or one object over several lines."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, TextIO

from soliloquy.problems.files.reading.rows import LONGEST_LINE, RefusedRow, SourceRow, flaw_of, lines, open_text

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


CHUNK = 65_536


def json_rows(path: Path) -> Iterator[SourceRow | RefusedRow]:
    """Detects which of them the file contains."""
    with open_text(path) as file:
        try:
            start = file.read(CHUNK).lstrip()
        except UnicodeDecodeError:
            # The reader of lines says where.
            start = ""
    if re.match(r"\{\s*\n|\{[^\n]*[\[{,]\s*\n", start):
        return object_row(path)
    # Lines may be lists by mistake: those of an array hold objects, on this line or the next.
    return array_rows(path) if re.match(r"\[\s*(\{|\]|$)", start) else jsonl_rows(path)


def jsonl_rows(path: Path) -> Iterator[SourceRow | RefusedRow]:
    for line in lines(path):
        place = f"{path.name}:{line.number}"
        if line.flaw:
            yield RefusedRow(place=place, field="text", reason=line.flaw)
        elif line.text.strip():
            try:
                value = parse_json(line.text)
            except NotJson as error:
                yield RefusedRow(place=place, field="text", reason=str(error))
            else:
                yield _row(place, value)


def object_row(path: Path) -> Iterator[SourceRow | RefusedRow]:
    with open_text(path) as file:
        text = file.read(LONGEST_LINE + 1)
    try:
        if len(text) > LONGEST_LINE:
            raise NotJson(f"is longer than {LONGEST_LINE:,} characters")
        yield _row(path.name, parse_json(text))
    except NotJson as error:
        yield RefusedRow(place=path.name, field="text", reason=flaw_of(text) or str(error))


def array_rows(path: Path) -> Iterator[SourceRow | RefusedRow]:
    """Reads item by item, so that the array may be larger than memory; continues behind a broken item if it can."""
    decoder = json.JSONDecoder()
    number = 1
    with open_text(path) as file:
        buffer = file.read(CHUNK).lstrip()[1:]
        # Items that begin on lines of their own, with the same indent, are found again behind a broken one.
        begin = re.match(r"\s*?(\n[ \t]*\{)", buffer)
        while True:
            buffer = buffer.lstrip(", \t\r\n")
            value, end, fault = None, len(buffer), None
            try:
                value, end = decoder.raw_decode(buffer)
            except (ValueError, RecursionError) as error:
                if buffer.startswith("]"):
                    return
                fault = error
            # The item may continue behind the buffer. Doubling the buffer bounds how often a character is decoded.
            if end == len(buffer) <= LONGEST_LINE and (more := file.read(max(CHUNK, end))):
                buffer += more
                continue
            if fault:
                too_long = len(buffer) > LONGEST_LINE
                why = f"is longer than {LONGEST_LINE:,} characters" if too_long else "not JSON, or cut off"
                buffer = _behind(file, buffer, begin[1]) if begin else ""
                why += "" if buffer else "; reading ends here"
                yield RefusedRow(place=f"{path.name} item {number}", field="text", reason=why)
                if not buffer:
                    return
            else:
                yield _item(f"{path.name} item {number}", value, buffer[:end])
                buffer = buffer[end:]
            number += 1


def _item(place: str, value: Any, text: str) -> SourceRow | RefusedRow:
    """Returns the row of an item, whose text is checked as a line is on its own."""
    if isinstance(value, dict) and ("\\u" in text or not text.isascii()):
        for name, cell in value.items():
            if flaw := flaw_of(json.dumps(cell, ensure_ascii=False)):
                return RefusedRow(place=place, field=name, reason=flaw)
    return _row(place, value)


def _behind(file: TextIO, buffer: str, begin: str) -> str:
    """Returns the text from the next item on; empty if none follows."""
    while (at := buffer.find(begin)) < 0:
        more = file.read(CHUNK)
        if not more:
            return ""
        buffer = buffer[-len(begin) :] + more
    return buffer[at:]


def _row(place: str, value: Any) -> SourceRow | RefusedRow:
    if isinstance(value, dict):
        return SourceRow(place=place, cells=value)
    return RefusedRow(place=place, field="text", reason=f"expected a JSON object, not {json.dumps(value)[:40]}")
