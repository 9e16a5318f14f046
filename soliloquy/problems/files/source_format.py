"""The formats that problems come in: a file each in formats/ says how it is read and which column is what."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from soliloquy.problems.files.reading.csv_rows import csv_rows
from soliloquy.problems.files.reading.json_rows import json_rows, jsonl_rows
from soliloquy.problems.files.reading.rows import RefusedRow, SourceRow, UnreadableSource

FORMATS = Path(__file__).with_name("formats")
READERS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}


class SourceFormat(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    reader: Literal["jsonl", "csv", "parquet", "datasets", "by suffix"]
    # How the text of a solution is taken apart; "answer" where there is none but the answer itself.
    solution: Literal["prose", "annotated", "program", "answer"]
    # What a row cannot do without, in our words.
    needs: tuple[str, ...]
    # Our word for a column, and the source's.
    columns: dict[str, str]

    def with_columns(self, named: Mapping[str, str]) -> "SourceFormat":
        """Columns that a user names must be there."""
        needs = tuple(dict.fromkeys([*self.needs, *named]))
        return self.model_copy(update={"columns": {**self.columns, **named}, "needs": needs})

    def rows(self, source: Path) -> Iterator[SourceRow | RefusedRow]:
        reader = self._reader_of(source)
        needed = [self.columns[need] for need in self.needs]
        if reader in ("parquet", "datasets"):
            # Here, because Arrow takes longer to load than most files to read.
            from soliloquy.problems.files.reading import arrow_rows

            yield from (arrow_rows.parquet_rows if reader == "parquet" else arrow_rows.datasets_rows)(source, needed)
        elif reader == "csv":
            yield from csv_rows(source, needed)
        else:
            yield from (json_rows if reader == "json" else jsonl_rows)(source)

    def _reader_of(self, source: Path) -> str:
        if not source.exists():
            raise UnreadableSource(f"{source}: there is no such file or folder")
        if source.is_dir():
            if self.reader in ("datasets", "by suffix"):
                return "datasets"
            raise UnreadableSource(f"{source}: is a folder; a file is wanted, or --as datasets")
        if self.reader == "datasets":
            raise UnreadableSource(f"{source}: is a file; the folder that `datasets` saved is wanted")
        if self.reader != "by suffix":
            return self.reader
        if source.suffix.lower() not in READERS:
            raise UnreadableSource(
                f"{source}: {source.suffix!r} says nothing of how to read it; one of {', '.join(READERS)}"
            )
        return READERS[source.suffix.lower()]


# What a column may be mapped to by a user.
NAMES = ("question", "solution", "id", "topic", "answer", "unit", "difficulty", "solve_rate")


def format_names() -> list[str]:
    return sorted(path.stem for path in FORMATS.glob("*.toml"))


def load_format(name: str) -> SourceFormat:
    return SourceFormat.model_validate(tomllib.loads((FORMATS / f"{name}.toml").read_text("utf-8")))
