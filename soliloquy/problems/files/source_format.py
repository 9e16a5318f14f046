"""The formats of problems: each file in formats/ names a reader and maps columns to fields."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from soliloquy.problems.files.reading.csv_rows import csv_rows
from soliloquy.problems.files.reading.json_rows import json_rows
from soliloquy.problems.files.reading.rows import Alternatives, RefusedRow, SourceRow, UnreadableSource
from soliloquy.recipes.packages import folder, has_part, known_recipes

FORMATS = Path(__file__).with_name("formats")
READERS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}

# The fields that a user may map columns to.
NAMES = ("question", "solution", "id", "topic", "answer", "unit", "difficulty", "solve_rate")
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
# A folder, or a source whose format is named, may hold logs besides.
_ALL_READERS = {**READERS, ".txt": "jsonl"}


class SourceFormat(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    reader: Literal["jsonl", "csv", "parquet", "datasets", "by suffix"]
    # How to parse a solution; "answer" if the source has only answers, "raw" if a model's answer holds the problem too.
    solution: Literal["prose", "annotated", "program", "answer", "raw"]
    # The required fields.
    needs: tuple[str, ...]
    # The fields whose columns a user named: the columns must be there, and a cell may be empty.
    named: tuple[str, ...] = ()
    # Fields, and the columns of the source that they come from: those of their names, unless a format says others.
    columns: dict[str, str] = {name: name for name in NAMES}

    def with_columns(self, named: Mapping[str, str]) -> "SourceFormat":
        """Returns the format with columns named by a user, which must exist."""
        return self.model_copy(update={"columns": {**self.columns, **named}, "named": tuple(named)})

    @property
    def needed(self) -> Mapping[str, Alternatives]:
        """Maps the fields that a row needs to the columns of which one must be there."""
        found: dict[str, list[str]] = {need: [self.columns[need]] for need in (*self.needs, *self.named)}
        is_prose = self.solution == "prose" and "solution" in self.needs
        if is_prose and "answer" in self.columns and "solution" not in self.named:
            # An answer will do: programs then give the steps.
            found["solution"].append(self.columns["answer"])
        return found

    def rows(self, source: Path) -> Iterator[SourceRow | RefusedRow]:
        """Raises UnreadableSource; a file of a folder that cannot be read is a refused row."""
        if source.is_dir() and self.reader == "by suffix" and not is_saved_by_datasets(source):
            yield from self._rows_of_files(source)
            return
        reader = self._reader_of(source)
        needed = list(self.needed.values())
        if reader in ("parquet", "datasets"):
            # Imported here: loading Arrow takes longer than reading most files.
            from soliloquy.problems.files.reading import arrow_rows

            yield from (arrow_rows.parquet_rows if reader == "parquet" else arrow_rows.datasets_rows)(source, needed)
        elif reader == "csv":
            yield from csv_rows(source, needed)
        else:
            yield from json_rows(source)

    def _rows_of_files(self, folder: Path) -> Iterator[SourceRow | RefusedRow]:
        files = sorted((path for path in folder.iterdir() if path.suffix.lower() in _ALL_READERS), key=_natural)
        if not files:
            raise UnreadableSource(f"{folder}: holds no files that end with one of {', '.join(READERS)}")
        for file in files:
            try:
                yield from self.rows(file)
            except UnreadableSource as unreadable:
                yield RefusedRow(place=file.name, field="text", reason=str(unreadable).removeprefix(f"{file}: "))

    def _reader_of(self, source: Path) -> str:
        _require_there(source)
        if source.is_dir():
            if self.reader in ("datasets", "by suffix"):
                return "datasets"
            raise UnreadableSource(f"{source}: is a folder: name a file, or use --as datasets")
        if self.reader == "datasets":
            raise UnreadableSource(f"{source}: is a file: name the folder that `datasets` saved")
        if self.reader != "by suffix":
            return self.reader
        if source.suffix.lower() not in _ALL_READERS:
            raise _unknown(source, f"use one of {', '.join(READERS)}")
        return _ALL_READERS[source.suffix.lower()]


# Rows of any columns.
ANY_ROWS = SourceFormat(reader="by suffix", solution="prose", needs=(), columns={})


def format_of(source: Path) -> str:
    """Returns the name of the format that a source shows by itself; raises UnreadableSource if it shows none."""
    _require_there(source)
    remedy = f"add --as, one of {', '.join(format_names())}"
    if is_saved_by_datasets(source):
        return "datasets"
    if source.is_dir():
        raise UnreadableSource(f"{source}: is a folder: name a file of it, or {remedy}")
    if name := READERS.get(source.suffix.lower()):
        return name
    raise _unknown(source, remedy)


def _require_there(source: Path) -> None:
    if not source.exists():
        raise UnreadableSource(f"{source}: no such file or folder")


def _unknown(source: Path, remedy: str) -> UnreadableSource:
    if source.suffix.lower() in _SPREADSHEETS:
        return UnreadableSource(f"{source}: is a spreadsheet: save it as CSV UTF-8 and import that")
    return UnreadableSource(f"{source}: unknown suffix {source.suffix!r}: {remedy}")


def is_saved_by_datasets(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("state.json", "dataset_dict.json"))


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sorts `2.json` before `10.json`."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", path.name)]


def format_names() -> list[str]:
    return sorted(_files())


def load_format(name: str) -> SourceFormat:
    return SourceFormat.model_validate(tomllib.loads(_files()[name].read_text("utf-8")))


@cache
def _files() -> dict[str, Path]:
    """Maps the name of each format to its file: ours, and those of recipes whose papers published problems."""
    folders = (FORMATS, *(folder(name) / "problem_formats" for name in known_recipes() if has_part(name, "recipe")))
    return {path.stem: path for place in folders for path in place.glob("*.toml")}
