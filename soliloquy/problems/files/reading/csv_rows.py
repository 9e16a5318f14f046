"""Rows from CSV, record by record; a broken record does not affect the following ones."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from soliloquy.problems.files.reading.lines import LONGEST_LINE, TextLine, lines
from soliloquy.problems.files.reading.rows import RefusedRow, SourceRow, UnreadableSource, require_columns

DELIMITERS = ",;\t"


# The number of a record's first line, its cells, and its flaw, if it has one.
_Record = tuple[int, list[str], str]


def csv_rows(path: Path, columns: Iterable[str]) -> Iterator[SourceRow | RefusedRow]:
    """Yields the rows of a file; its first record names the columns and determines the delimiter."""
    rest = lines(path)
    first = next((line for line in rest if line.flaw or line.text.strip()), None)
    if first is None:
        raise UnreadableSource(f"{path}: is empty: the first line must name the columns")
    records = _records(deque([first]), rest, max(DELIMITERS, key=first.text.count))
    number, header, flaw = next(records)
    if flaw:
        raise UnreadableSource(f"{path}:{number}: the names of the columns: {flaw}")
    names = [name.strip() for name in header]
    require_columns(path, columns, names)
    for twice in {name for name in names if names.count(name) > 1}:
        raise UnreadableSource(f"{path}: duplicate column {twice!r}: rename one of them")
    for number, cells, flaw in records:
        place = f"{path.name}:{number}"
        if not flaw and len(cells) != len(names):
            flaw = f"{len(cells)} cells, but there are {len(names)} columns"
        if flaw:
            yield RefusedRow(place=place, field="text", reason=flaw)
        else:
            yield SourceRow(place=place, cells=dict(zip(names, cells, strict=True)))


def _records(source: deque[TextLine], rest: Iterator[TextLine], delimiter: str) -> Iterator[_Record]:
    csv.field_size_limit(LONGEST_LINE)
    taken: list[TextLine] = []

    def texts() -> Iterator[str]:
        """Yields the lines of one record; the CSV reader requests more while a quote is open."""
        size = 0
        while line := source.popleft() if source else next(rest, None):
            taken.append(line)
            size += len(line.text)
            if size > LONGEST_LINE:
                raise csv.Error("a quote that opens here is not closed in time")
            yield line.text

    while True:
        taken.clear()
        try:
            cells = next(csv.reader(texts(), delimiter=delimiter, strict=True), None)
        except csv.Error as error:
            # Continue behind the line where the record began.
            source.extendleft(reversed(taken[1:]))
            reason = "a quote that opens here is never closed" if "unexpected end" in str(error) else str(error)
            yield taken[0].number, [], taken[0].flaw or f"not CSV: {reason}"
            continue
        if cells is None:
            return
        flaw = next((line.flaw for line in taken if line.flaw), "")
        if cells or flaw:
            yield taken[0].number, cells, flaw
