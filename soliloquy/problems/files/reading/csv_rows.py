"""Rows from CSV, record by record; a broken record does not affect the following ones."""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from soliloquy.problems.files.reading.rows import (
    LONGEST_LINE,
    Alternatives,
    RefusedRow,
    SourceRow,
    TextLine,
    UnreadableSource,
    lines,
    require_columns,
)

DELIMITERS = ",;\t"
# Excel's first line, which is no row.
_SEPARATOR = re.compile(r'"?sep=(?P<delimiter>[^\w"])"?\s*', re.IGNORECASE)
_REASONS = {
    "unexpected end": "a quote that opens here is never closed",
    "new-line character": "a carriage return stands in a cell without quotes: put the cell in double quotes",
}

# The number of a record's first line, its cells, and its flaw, if it has one.
_Record = tuple[int, list[str], str]


def csv_rows(path: Path, needed: Iterable[Alternatives]) -> Iterator[SourceRow | RefusedRow]:
    """Yields the rows of a file; its first record names the columns and determines the delimiter."""
    rest = lines(path)
    first, delimiter = _begin(rest)
    if first is None:
        raise UnreadableSource(f"{path}: is empty: the first line must name the columns")
    source = deque([first])
    number, header, flaw = next(_records(source, rest, delimiter, 1))
    if flaw:
        raise UnreadableSource(f"{path}:{number}: the names of the columns: {flaw}")
    names = [name.strip() for name in header]
    require_columns(path, needed, filter(None, names))
    if names.count("") > 1:
        # Spreadsheets write empty columns behind a table.
        names = [name or f"column {at}" for at, name in enumerate(names, start=1)]
    for twice in {name for name in names if names.count(name) > 1}:
        raise UnreadableSource(f"{path}: duplicate column {twice!r}: rename one of them")
    for number, cells, flaw in _records(source, rest, delimiter, len(names)):
        place = f"{path.name}:{number}"
        if not any(cells):
            # An empty record has no width.
            cells = [""] * len(names)
        if not flaw and len(cells) != len(names):
            flaw = f"{len(cells)} cells, but there are {len(names)} columns"
        if flaw:
            yield RefusedRow(place=place, field="text", reason=flaw)
        else:
            yield SourceRow(place=place, cells=dict(zip(names, cells, strict=True)))


def _begin(rest: Iterator[TextLine]) -> tuple[TextLine | None, str]:
    """Returns the line that names the columns, and the delimiter."""
    texts = (line for line in rest if line.flaw or line.text.strip())
    first = next(texts, None)
    if first and (stated := _SEPARATOR.fullmatch(first.text)):
        return next(texts, None), stated["delimiter"]
    return first, max(DELIMITERS, key=first.text.count) if first else ""


def _records(source: deque[TextLine], rest: Iterator[TextLine], delimiter: str, width: int) -> Iterator[_Record]:
    csv.field_size_limit(LONGEST_LINE)
    taken: list[TextLine] = []

    def texts() -> Iterator[str]:
        """Yields the lines of one record; the CSV reader requests more while a quote is open."""
        size = 0
        while line := source.popleft() if source else next(rest, None):
            taken.append(line)
            size += len(line.text)
            if size > LONGEST_LINE:
                raise csv.Error(f"a quote that opens here is not closed within {LONGEST_LINE:,} characters")
            yield line.text

    while True:
        taken.clear()
        try:
            cells = next(csv.reader(texts(), delimiter=delimiter, strict=True), None)
        except csv.Error as error:
            # Continue behind the line where the record began.
            source.extendleft(reversed(taken[1:]))
            reason = next((words for start, words in _REASONS.items() if str(error).startswith(start)), str(error))
            if len(taken) > 1 and (left := _skip_text(source, rest, delimiter, width)):
                reason += f"; {left:,} lines behind it are no rows, and are left out"
            yield taken[0].number, [], taken[0].flaw or f"not CSV: {reason}"
            continue
        if cells is None:
            return
        flaw = next((line.flaw for line in taken if line.flaw), "")
        if cells or flaw:
            yield taken[0].number, cells, flaw


def _skip_text(source: deque[TextLine], rest: Iterator[TextLine], delimiter: str, width: int) -> int:
    """Skips the lines of an open cell, up to one that can be a row; a line for each would fill a terminal for hours."""
    skipped = 0
    while line := source.popleft() if source else next(rest, None):
        if '"' in line.text or line.text.count(delimiter) >= max(width - 1, 1):
            source.appendleft(line)
            break
        skipped += 1
    return skipped
