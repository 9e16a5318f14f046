"""The files of an export: there whole or not at all, and never in place of another."""

import csv
import shutil
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, Protocol

from pydantic_core import to_json

from services.dataset.exports.format import Row


class Taken(ValueError):
    """Something is where an export is to be; the message names it."""


class Rows(Protocol):
    """A file of rows that is being written."""

    @abstractmethod
    def add(self, row: Row) -> None: ...


@contextmanager
def unfinished(out: Path) -> Iterator[Path]:
    """Where to write what is moved to its place at the end; raises Taken where something is there."""
    if out.exists() or out.is_symlink():
        raise Taken(f"{out} is there already: choose another --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    place = out.with_name(f".{out.name}.unfinished")
    _remove(place)
    try:
        yield place
        place.rename(out)
    finally:
        _remove(place)


@contextmanager
def opened(path: Path, suffix: str) -> Iterator[Rows]:
    """To write rows into, as the suffix says."""
    with path.open("wb") as file:
        if suffix == ".jsonl":
            yield _Lines(file)
        elif suffix == ".csv":
            with TextIOWrapper(file, "utf-8", newline="") as text:
                yield _Table(text)
        else:
            array = _Array(file)
            yield array
            array.close()


class _Lines:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def add(self, row: Row) -> None:
        self._file.write(to_json(row) + b"\n")


class _Array:
    """One JSON array, a row on each line of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._before = b"[\n"

    def add(self, row: Row) -> None:
        self._file.write(self._before + to_json(row))
        self._before = b",\n"

    def close(self) -> None:
        self._file.write(b"[]\n" if self._before == b"[\n" else b"\n]\n")


class _Table:
    """The first row names the columns; null is an empty cell."""

    def __init__(self, file: TextIOWrapper) -> None:
        self._writer = csv.writer(file, lineterminator="\r\n")
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
