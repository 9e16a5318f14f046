"""The byte-level style of a CSV or JSON Lines file, detected on import so that an export can reproduce the file."""

import csv
import json
from codecs import StreamWriter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# The part of a file that detection reads.
_DETECTED_BYTES = 1_048_576


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    line_end: str
    byte_order_mark: bool = False
    # Whether the last line ends with a line end too.
    ended: bool = True
    # CSV only.
    delimiter: str = ","
    all_quoted: bool = False
    # Whether cells may begin as formulas do, as those of an imported file did.
    formulas: bool = True
    # JSON only: spaces after commas and colons, non-ASCII characters escaped, slashes escaped.
    spaced: bool = False
    ascii: bool = False
    slashes_escaped: bool = False

    def line(self, row: Any) -> bytes:
        if not (self.spaced or self.ascii or self.slashes_escaped):
            return to_json(row)
        separators = (", ", ": ") if self.spaced else (",", ":")
        text = json.dumps(row, ensure_ascii=self.ascii, separators=separators)
        return (text.replace("/", "\\/") if self.slashes_escaped else text).encode()

    def table(self, file: StreamWriter) -> Any:
        return csv.writer(
            file,
            delimiter=self.delimiter,
            lineterminator=self.line_end,
            quoting=csv.QUOTE_ALL if self.all_quoted else csv.QUOTE_MINIMAL,
        )


DEFAULTS = {".csv": Dialect(line_end="\r\n", formulas=False), ".jsonl": Dialect(line_end="\n")}


def detect(path: Path) -> Dialect | None:
    """Returns None for a file in a style that no export can write."""
    if path.suffix not in DEFAULTS:
        return None
    with path.open("rb") as file:
        start = file.read(_DETECTED_BYTES)
        file.seek(-min(1, len(start)), 2)
        ended = file.read() == b"\n"
    # The last line may be incomplete, unless the whole file was read.
    lines = start.removeprefix(BYTE_ORDER_MARK).splitlines(keepends=True)[
        : None if len(start) < _DETECTED_BYTES else -1
    ]
    if not lines:
        return None
    common = Dialect(
        line_end="\r\n" if lines[0].endswith(b"\r\n") else "\n",
        byte_order_mark=start.startswith(BYTE_ORDER_MARK),
        ended=ended,
    )
    if path.suffix == ".csv":
        text = lines[0].decode("utf-8", "replace")
        return replace(common, delimiter=max(",;\t", key=text.count), all_quoted=text.startswith('"'))
    return _json_dialect([line.rstrip(b"\r\n") for line in lines], common)


def _json_dialect(lines: Sequence[bytes], common: Dialect) -> Dialect | None:
    """Returns the dialect that writes these lines, or None."""
    candidates = [
        replace(common, spaced=spaced, ascii=ascii, slashes_escaped=slashes_escaped)
        for spaced, ascii, slashes_escaped in product((False, True), repeat=3)
    ]
    for line in filter(None, lines):
        try:
            row = from_json(line)
        except ValueError:
            return None
        candidates = [dialect for dialect in candidates if dialect.line(row) == line]
        if len(candidates) <= 1:
            break
    return candidates[0] if candidates else None
