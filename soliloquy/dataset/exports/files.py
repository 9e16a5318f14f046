"""Writes export files completely or not at all, and never over an existing file."""

import shutil
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, Protocol

from pydantic_core import to_json

from soliloquy.dataset.exports.dialect import DEFAULTS, Dialect
from soliloquy.dataset.exports.format import Row


class AlreadyExists(ValueError):
    """The output path exists; the message names it."""


class RowWriter(Protocol):
    """Writes rows to a file."""

    @abstractmethod
    def add(self, row: Row) -> None: ...


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
def open_rows(path: Path, suffix: str, dialect: Dialect | None = None) -> Iterator[RowWriter]:
    """Opens a file for rows in the format of its suffix, and in `dialect` if given."""
    with path.open("w+b") as file:
        if suffix not in DEFAULTS:
            array = _Array(file)
            yield array
            array.close()
            return
        dialect = dialect or DEFAULTS[suffix]
        file.write(dialect.beginning)
        if suffix == ".jsonl":
            yield _Lines(file, dialect)
        else:
            text = TextIOWrapper(file, "utf-8", newline="")
            yield _Table(text, dialect)
            text.detach()
        if not dialect.ended:
            file.truncate(file.tell() - len(dialect.line_end))


class _Lines:
    def __init__(self, file: BinaryIO, dialect: Dialect) -> None:
        self._file = file
        self._dialect = dialect
        self._end = dialect.line_end.encode()

    def add(self, row: Row) -> None:
        self._file.write(self._dialect.line(row) + self._end)


class _Array:
    """A JSON array with a row on each line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._before = b"[\n"

    def add(self, row: Row) -> None:
        self._file.write(self._before + to_json(row))
        self._before = b",\n"

    def close(self) -> None:
        self._file.write(b"[]\n" if self._before == b"[\n" else b"\n]\n")


class _Table:
    """CSV: the first row names the columns; null is an empty cell."""

    def __init__(self, file: TextIOWrapper, dialect: Dialect) -> None:
        self._writer = dialect.table(file)
        self._columns: list[str] | None = None

    def add(self, row: Row) -> None:
        if self._columns is None:
            self._columns = list(row)
            self._writer.writerow(self._columns)
        self._writer.writerow([row.get(name) for name in self._columns])


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
