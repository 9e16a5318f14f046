"""Imports of small sources, and what came of them."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from soliloquy.problems.files.importing import ImportCounts, import_problems
from soliloquy.problems.files.reading.rows import RefusedRow
from soliloquy.problems.files.source_format import format_of, load_format

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    target: Path
    counts: ImportCounts
    refusals: list[RefusedRow]
    unread: list[str]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.target.read_text("utf-8").splitlines()]

    @property
    def complaints(self) -> list[str]:
        return [str(refusal) for refusal in self.refusals]


def imported(
    source: Path,
    as_format: str | None,
    *,
    columns: Mapping[str, str] | None = None,
    strict: bool = False,
    keep_repeats: bool = False,
) -> Outcome:
    """Imports a source, by what it shows of its own where no format is named."""
    target = source.with_name("imported.jsonl")
    refusals: list[RefusedRow] = []
    unread: list[str] = []
    counts = import_problems(
        source,
        target,
        load_format(as_format or format_of(source)).with_columns(columns or {}),
        strict=strict,
        keep_repeats=keep_repeats,
        report=refusals.append,
        report_unread=unread.append,
    )
    return Outcome(target=target, counts=counts, refusals=refusals, unread=unread)


def jsonl(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def as_csv(path: Path, rows: Sequence[Row], **options: Any) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), **options)
        writer.writeheader()
        writer.writerows(rows)
    return path


def as_parquet(path: Path, rows: Sequence[Row]) -> Path:
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path, row_group_size=2)
    return path


def saved_split(folder: Path, *parts: Sequence[Row]) -> Path:
    """A folder as `datasets` saves one split, with a file of Arrow's stream format for each part."""
    folder.mkdir(parents=True)
    names = [f"data-{number:05}-of-{len(parts):05}.arrow" for number in range(len(parts))]
    for name, rows in zip(names, parts, strict=True):
        table = pa.Table.from_pylist([dict(row) for row in rows])
        with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table, max_chunksize=2)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}), "utf-8")
    (folder / "dataset_info.json").write_text("{}", "utf-8")
    return folder
