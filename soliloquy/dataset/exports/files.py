"""Writes export files completely or not at all, and never over an existing file."""

import re
import shutil
from codecs import getwriter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any, BinaryIO

from pydantic_core import to_json

from soliloquy.dataset.exports.dialect import BYTE_ORDER_MARK, DEFAULTS, Dialect
from soliloquy.dataset.exports.format import Row
from soliloquy.runtime.failure import Failure

AddRow = Callable[[Row], object]


@contextmanager
def atomic_output(out: Path) -> Iterator[Path]:
    """Yields a temporary path that becomes `out` at the end; raises Failure if `out` exists."""
    if out.exists() or out.is_symlink():
        raise Failure(f"{out} exists: choose another --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    place = out.with_name(f".{out.name}.unfinished")
    _remove(place)
    try:
        yield place
        place.rename(out)
    finally:
        _remove(place)


@contextmanager
def open_rows(path: Path, suffix: str, dialect: Dialect | None = None) -> Iterator[AddRow]:
    """Opens a file for rows in the format of its suffix, and in `dialect` if given; yields what writes a row."""
    with path.open("w+b") as file:
        if suffix == ".json":
            # An array with a row on each line.
            before = chain([b"[\n"], repeat(b",\n"))
            yield lambda row: file.write(next(before) + to_json(row))
            file.write(b"\n]\n" if file.tell() else b"[]\n")
            return
        dialect = dialect or DEFAULTS[suffix]
        if dialect.byte_order_mark:
            file.write(BYTE_ORDER_MARK)
        if suffix == ".csv":
            yield _table(file, dialect)
        else:
            line, end = dialect.line, dialect.line_end.encode()
            yield lambda row: file.write(line(row) + end)
        if not dialect.ended:
            file.truncate(file.tell() - len(dialect.line_end))


# A spreadsheet runs a cell that begins so; -3.5 is a number to it.
_FORMULA = re.compile(r"(?![+-]?[\d.]+(e[+-]?\d+)?$)[=+\-@\t\r\n]", re.IGNORECASE)


def _table(file: BinaryIO, dialect: Dialect) -> AddRow:
    """CSV: the first row names the columns; null is an empty cell."""
    writer, columns = dialect.table(getwriter("utf-8")(file)), list[str]()

    def cell(value: Any) -> Any:
        runs = not dialect.formulas and isinstance(value, str) and _FORMULA.match(value)
        return f"'{value}" if runs else value

    def add(row: Row) -> None:
        if not columns:
            columns.extend(row)
            writer.writerow(map(cell, columns))
        writer.writerow([cell(row.get(name)) for name in columns])

    return add


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
