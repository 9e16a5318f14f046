"""Brings problems in: row by row, into a problem file of our own."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from soliloquy.problems.book import as_one_line
from soliloquy.problems.files.imported_row import imported
from soliloquy.problems.files.problem_file import first_complaint
from soliloquy.problems.files.problem_of_row import BadField, id_of
from soliloquy.problems.files.problem_rows import ProblemRow
from soliloquy.problems.files.reading.rows import Refusal, SourceRow
from soliloquy.problems.files.seen import Seen
from soliloquy.problems.files.source_format import SourceFormat
from soliloquy.problems.files.whole import whole_file


@dataclass(kw_only=True, slots=True)
class Counts:
    read: int = 0
    written: int = 0
    refused: int = 0
    # Rows whose question or id an earlier row has.
    repeated: int = 0


class Refused(ValueError):
    """The source has a row that cannot be used, and all of it was wanted or nothing."""


class NothingUsable(ValueError):
    """Not one row of the source can be used."""

    def __init__(self, counts: Counts) -> None:
        super().__init__(f"{counts.read} rows and not one that can be used")
        self.counts = counts


def import_problems(
    source: Path,
    target: Path,
    source_format: SourceFormat,
    *,
    strict: bool,
    keep_repeats: bool,
    report: Callable[[Refusal], None],
) -> Counts:
    """Writes or reports every row; writes no file where none can be used."""
    counts = Counts()

    def complain(refusal: Refusal) -> None:
        if strict:
            raise Refused(str(refusal))
        report(refusal)

    with Seen() as seen, whole_file(target) as file:
        for source_row in source_format.rows(source):
            counts.read += 1
            outcome = _outcome(source_row, source_format)
            if isinstance(outcome, Refusal):
                counts.refused += 1
                complain(outcome)
                continue
            row, line = outcome
            repeat = _repeat(row, source_row.place, seen)
            counts.repeated += repeat is not None
            if repeat is not None and not keep_repeats:
                complain(repeat)
                continue
            file.write(line.encode() + b"\n")
            counts.written += 1
        if not counts.written:
            raise NothingUsable(counts)
    return counts


def _outcome(row: SourceRow | Refusal, source_format: SourceFormat) -> tuple[ProblemRow, str] | Refusal:
    if isinstance(row, Refusal):
        return row
    try:
        return imported(row.cells, source_format)
    except ValidationError as error:
        field, _, reason = first_complaint(error).partition(": ")
        return Refusal(place=row.place, field=field, reason=reason)
    except BadField as bad:
        return Refusal(place=row.place, field=bad.field, reason=" ".join(bad.reason.split()))


def _repeat(row: ProblemRow, place: str, seen: Seen) -> Refusal | None:
    """A run reads a problem once; both are noted, so that either tells the next one."""
    values = {"question": as_one_line(row.question), "id": id_of(row)}
    firsts = {field: first for field, value in values.items() if (first := seen.first(field, value, place))}
    for field, first in firsts.items():
        return Refusal(place=place, field=field, reason=f"the same as at {first}")
    return None
