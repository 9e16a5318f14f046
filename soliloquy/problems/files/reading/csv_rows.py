"""Rows from CSV, record by record; a broken record does not affect the following ones."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from soliloquy.problems.files.reading.lines import LONGEST_LINE, TextLine, lines
from soliloquy.problems.files.reading.rows import RefusedRow, SourceRow, UnreadableSource, require_columns

DELIMITERS = ",;\t"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Record:
    # The number of its first line.
    number: int
    cells: list[str]
    flaw: str


def csv_rows(path: Path, columns: Iterable[str]) -> Iterator[SourceRow | RefusedRow]:
    """Yields the rows of a file; its first record names the columns and determines the delimiter."""
    rest = lines(path)
    first = next((line for line in rest if line.flaw or line.text.strip()), None)
    if first is None:
        raise UnreadableSource(f"{path}: is empty: the first line must name the columns")
    records = _records(deque([first]), rest, max(DELIMITERS, key=first.text.count))
    header = next(records)
    if header.flaw:
        raise UnreadableSource(f"{path}:{header.number}: the names of the columns: {header.flaw}")
    names = [name.strip() for name in header.cells]
    require_columns(path, columns, names)
    for twice in {name for name in names if names.count(name) > 1}:
        raise UnreadableSource(f"{path}: duplicate column {twice!r}: rename one of them")
    for record in records:
        place = f"{path.name}:{record.number}"
        if record.flaw:
            yield RefusedRow(place=place, field="text", reason=record.flaw)
        elif len(record.cells) != len(names):
            reason = f"{len(record.cells)} cells, but there are {len(names)} columns"
            yield RefusedRow(place=place, field="text", reason=reason)
        else:
            yield SourceRow(place=place, cells=dict(zip(names, record.cells, strict=True)))


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
            yield _Record(number=taken[0].number, cells=[], flaw=taken[0].flaw or f"not CSV: {_in_words(error)}")
            continue
        if cells is None:
            return
        flaw = next((line.flaw for line in taken if line.flaw), "")
        if cells or flaw:
            yield _Record(number=taken[0].number, cells=cells, flaw=flaw)


def _in_words(error: csv.Error) -> str:
    return "a quote that opens here is never closed" if "unexpected end" in str(error) else str(error)
