"""Imports problems row by row from another format into a problem file."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from soliloquy.problems.book import as_one_line
from soliloquy.problems.files.imported_row import ImportedRow, import_row
from soliloquy.problems.files.problem_from_row import BadField, check_row, problem_id
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.problems.files.reading.rows import RefusedRow, SourceRow
from soliloquy.problems.files.row_faults import refusal
from soliloquy.problems.files.source_format import SourceFormat
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.seeds import digest

_WRITE_ANSWER = "nothing is compared with it; write the number and its unit alone, e.g. 2.5 m"
_LONGEST_SHOWN = 60


@dataclass(kw_only=True, slots=True)
class ImportCounts:
    read: int = 0
    written: int = 0
    refused: int = 0
    # Rows with the question of an earlier row; one with the id of another question is refused.
    repeated: int = 0
    # Rows whose solution was not read completely.
    unread: int = 0
    # Rows whose answer cannot be read as a number and is kept as text.
    text_answers: int = 0


class NothingUsable(Failure):
    def __init__(self, counts: ImportCounts) -> None:
        super().__init__(f"none of {counts.read} rows can be used")
        self.counts = counts


def _seen_values() -> sqlite3.Connection:
    """Opens a temporary database on disk for values: a hundred million rows would not fit into memory."""
    seen = sqlite3.connect("", isolation_level=None)
    # Durability is useless: the database goes away with the process.
    seen.execute("PRAGMA journal_mode = OFF")
    seen.execute("PRAGMA synchronous = OFF")
    seen.execute("CREATE TABLE seen (hash TEXT PRIMARY KEY, place TEXT) WITHOUT ROWID")
    return seen


def import_problems(
    source: Path,
    target: Path,
    source_format: SourceFormat,
    *,
    strict: bool,
    keep_repeats: bool,
    language: str = "",
    report: Callable[[RefusedRow], None],
    report_unread: Callable[[str], None],
) -> ImportCounts:
    """Writes or reports every row, and what cannot be read of one; writes no file if no row can be used."""
    counts = ImportCounts()

    def complain(refusal: RefusedRow) -> None:
        if strict:
            raise Failure(f"{refusal}; nothing was written because of --strict")
        report(refusal)

    with closing(_seen_values()) as seen, atomic_file(target) as file:
        for source_row in source_format.rows(source):
            if _is_blank(source_row):
                continue
            counts.read += 1
            outcome = _outcome(source_row, source_format, language)
            if isinstance(outcome, RefusedRow):
                counts.refused += 1
                complain(outcome)
                continue
            row, line, unread_answer = outcome
            if repeat := _repeat(row, source_row.place, seen):
                if keep_repeats or repeat.field == "question":
                    counts.repeated += 1
                else:
                    counts.refused += 1
                if not keep_repeats:
                    complain(repeat)
                    continue
            if doubt := check_row(row, language).doubt:
                counts.unread += 1
                report_unread(f"{source_row.place}: unverified: {doubt}")
            if unread_answer:
                counts.text_answers += 1
                report_unread(f"{source_row.place}: answer: {_shown(unread_answer)} is kept as text: {_WRITE_ANSWER}")
            file.write(line.encode() + b"\n")
            counts.written += 1
        if not counts.written:
            raise NothingUsable(counts)
    return counts


def _is_blank(row: SourceRow | RefusedRow) -> bool:
    """Whether nothing is in any cell, as in the rows that spreadsheets write behind a table."""
    if isinstance(row, RefusedRow) or not row.cells:
        return False
    return all(isinstance(cell, str) and not cell.strip() for cell in row.cells.values())


def _shown(answer: str) -> str:
    plain = " ".join(answer.split())
    return repr(plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}..")


def _outcome(row: SourceRow | RefusedRow, source_format: SourceFormat, language: str) -> ImportedRow | RefusedRow:
    if isinstance(row, RefusedRow):
        return row
    try:
        return import_row(row.cells, source_format, language)
    except (ValidationError, BadField) as error:
        return refusal(row.place, error)


def _repeat(row: ProblemRow, place: str, seen: sqlite3.Connection) -> RefusedRow | None:
    """Reports a row with the question or the id of an earlier row; always records both."""
    repeat = None
    for field, value in (("question", as_one_line(row.question)), ("id", problem_id(row))):
        key = digest(field, value)
        is_first = seen.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (key, place)).rowcount
        if not is_first and repeat is None:
            [first] = seen.execute("SELECT place FROM seen WHERE hash = ?", (key,)).fetchone()
            repeat = RefusedRow(place=place, field=field, reason=f"the same as at {first}")
    return repeat
