import re
from dataclasses import asdict
from pathlib import Path

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import ANY_PATH, AS_JSON, PROBLEM_FILE_OUT, writing_to
from soliloquy.cli.parameters import Choice
from soliloquy.cli.terminal import answer, echo
from soliloquy.problems.files.importing import NothingUsable, import_problems
from soliloquy.problems.files.reading.rows import RefusedRow
from soliloquy.problems.files.source_format import NAMES, format_names, format_of, load_format

# Their column may have a comma in its name.
_NEXT_COLUMN = re.compile(rf",(?=\s*(?:{'|'.join(NAMES)})\s*=)")


@click.command("import", cls=Command)
@click.argument("source", metavar="FILE|FOLDER", type=ANY_PATH)
def import_(
    *,
    format_name: str | None = setting(
        "The format of the source.  [default: csv, jsonl or parquet by its suffix, or datasets]",
        "--as",
        type=Choice(format_names()),
    ),
    out: Path = PROBLEM_FILE_OUT,
    columns: tuple[str, ...] = setting(
        f"Map our columns to theirs; ours: {', '.join(NAMES)}.", metavar="OURS=THEIRS,.."
    ),
    strict: bool = setting("Fail if any row cannot be used."),
    keep_repeats: bool = setting("Keep further rows of the same problem, for `problems split`."),
    as_json: bool = AS_JSON,
    source: Path,
) -> int:
    """Convert problems into a problem file.

    Rows that cannot be used, or that repeat an earlier question or id, are left out and reported with line, field and
    reason; the exit status is 1 if any cannot be used. A row is unverified if a part of its solution cannot be read,
    which is reported. An answer that cannot be read as a number is reported and kept as text. Columns that the problem
    file has no field for are kept under `extra`.
    """
    source_format = load_format(format_name or format_of(source)).with_columns(_column_map(columns))
    options = {"strict": strict, "keep_repeats": keep_repeats}
    try:
        with writing_to(out):
            counts = import_problems(source, out, source_format, **options, report=_report, report_unread=_report)
    except NothingUsable as nothing:
        counts = nothing.counts
        echo(f"soliloquy: {source}: {nothing}; nothing was written", err=True)
    lines = []
    if counts.written:
        repeats = "repeats kept" if keep_repeats else "repeats left out"
        unread = f", unverified: {counts.unread}" if counts.unread else ""
        worded = f", answers kept as text: {counts.text_answers}" if counts.text_answers else ""
        rows = f"rows refused: {counts.refused}, {repeats}: {counts.repeated}{unread}{worded}"
        lines.append(f"{counts.written} problems in {out}; {rows}")
    answer(asdict(counts), lines, as_json=as_json)
    return 1 if counts.refused or not counts.written else 0


def _column_map(given: tuple[str, ...]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for pair in (pair for text in given for pair in _NEXT_COLUMN.split(text)):
        ours, _, theirs = pair.partition("=")
        if ours.strip() not in NAMES or not theirs.strip():
            raise click.UsageError(
                f"invalid --columns {pair!r}: use OURS=THEIRS, with one of our columns: {', '.join(NAMES)}"
            )
        columns[ours.strip()] = theirs.strip()
    return columns


def _report(complaint: RefusedRow | str) -> None:
    echo(complaint, err=True)
