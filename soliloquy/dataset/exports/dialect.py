"""How a file of rows is written down to the byte: seen of one that is imported, so that its export can be the same."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TextIO

from pydantic_core import from_json, to_json

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# As much of a file as shows how it is written.
_LOOKED_AT = 1_048_576


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    line_end: str
    byte_order_mark: bool = False
    # Whether the last line ends like the others.
    ended: bool = True
    # Of CSV.
    delimiter: str = ","
    all_quoted: bool = False
    # Of JSON: blanks behind commas and colons, what is not ASCII by its number, a stroke behind a backslash.
    spaced: bool = False
    ascii: bool = False
    strokes_escaped: bool = False

    def line(self, row: Any) -> bytes:
        """A row as JSON."""
        if not (self.spaced or self.ascii or self.strokes_escaped):
            return to_json(row)
        separators = (", ", ": ") if self.spaced else (",", ":")
        text = json.dumps(row, ensure_ascii=self.ascii, separators=separators)
        return (text.replace("/", "\\/") if self.strokes_escaped else text).encode()

    def table(self, file: TextIO) -> Any:
        """A writer of CSV."""
        return csv.writer(
            file,
            delimiter=self.delimiter,
            lineterminator=self.line_end,
            quoting=csv.QUOTE_ALL if self.all_quoted else csv.QUOTE_MINIMAL,
        )

    @property
    def beginning(self) -> bytes:
        return _BYTE_ORDER_MARK if self.byte_order_mark else b""


DEFAULTS = {".csv": Dialect(line_end="\r\n"), ".jsonl": Dialect(line_end="\n")}


def detect(path: Path) -> Dialect | None:
    """None for a file whose way of writing is none that an export has."""
    if path.suffix not in DEFAULTS:
        return None
    with path.open("rb") as file:
        start = file.read(_LOOKED_AT)
        file.seek(-min(1, len(start)), 2)
        ended = file.read() == b"\n"
    # The last line is whole only where the file was looked at to its end.
    lines = start.removeprefix(_BYTE_ORDER_MARK).splitlines(keepends=True)[: None if len(start) < _LOOKED_AT else -1]
    if not lines:
        return None
    common = Dialect(
        line_end="\r\n" if lines[0].endswith(b"\r\n") else "\n",
        byte_order_mark=start.startswith(_BYTE_ORDER_MARK),
        ended=ended,
    )
    if path.suffix == ".csv":
        text = lines[0].decode("utf-8", "replace")
        return replace(common, delimiter=max(",;\t", key=text.count), all_quoted=text.startswith('"'))
    return _writing([line.rstrip(b"\r\n") for line in lines], common)


def _writing(lines: Sequence[bytes], common: Dialect) -> Dialect | None:
    """The way in which rows come out as these lines."""
    left = [
        replace(common, spaced=spaced, ascii=ascii, strokes_escaped=strokes_escaped)
        for spaced, ascii, strokes_escaped in product((False, True), repeat=3)
    ]
    for line in filter(None, lines):
        try:
            row = from_json(line)
        except ValueError:
            return None
        left = [dialect for dialect in left if dialect.line(row) == line]
        if len(left) <= 1:
            break
    return left[0] if left else None
