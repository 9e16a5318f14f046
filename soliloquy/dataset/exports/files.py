"""Writes export files completely or not at all, and never over an existing file."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain, repeat
from pathlib import Path
from typing import BinaryIO

from pydantic_core import to_json

from soliloquy.dataset.exports.dialect import DEFAULTS, Dialect
from soliloquy.dataset.exports.format import Row

AddRow = Callable[[Row], object]


class AlreadyExists(ValueError):
    """The output path exists; the message names it."""


@contextmanager
def atomic_output(out: Path) -> Iterator[Path]:
    """Yields a temporary path that becomes `out` at the end; raises AlreadyExists if `out` exists."""
    if out.exists() or out.is_symlink():
        raise AlreadyExists(f"{out} exists: choose another --out")
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
        if suffix not in DEFAULTS:
            yield from _array(file)
            return
        dialect = dialect or DEFAULTS[suffix]
        file.write(dialect.beginning)
        yield from (_lines if suffix == ".jsonl" else _table)(file, dialect)
        if not dialect.ended:
            file.truncate(file.tell() - len(dialect.line_end))


def _lines(file: BinaryIO, dialect: Dialect) -> Iterator[AddRow]:
    end = dialect.line_end.encode()
    yield lambda row: file.write(dialect.line(row) + end)


def _array(file: BinaryIO) -> Iterator[AddRow]:
    """A JSON array with a row on each line."""
    before = chain([b"[\n"], repeat(b",\n"))
    yield lambda row: file.write(next(before) + to_json(row))
    file.write(b"\n]\n" if file.tell() else b"[]\n")


def _table(file: BinaryIO, dialect: Dialect) -> Iterator[AddRow]:
    """CSV: the first row names the columns; null is an empty cell."""
    text, columns = TextIOWrapper(file, "utf-8", newline=""), list[str]()
    writer = dialect.table(text)

    def add(row: Row) -> None:
        if not columns:
            columns.extend(row)
            writer.writerow(columns)
        writer.writerow([row.get(name) for name in columns])

    yield add
    text.detach()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
