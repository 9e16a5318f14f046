from collections.abc import Callable, Iterator
from pathlib import Path

import click

from soliloquy.cli.command import setting
from soliloquy.cli.export import CommandOfFormats
from soliloquy.cli.options import ANY_PATH, writing_to
from soliloquy.cli.parameters import Choice
from soliloquy.cli.terminal import echo
from soliloquy.dataset.exports.format import NAMES, Row
from soliloquy.dataset.exports.importing import import_rows
from soliloquy.problems.book import as_one_line
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.problems.files.reading.rows import RefusedRow
from soliloquy.problems.files.source_format import ANY_ROWS
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Problem

_SOME_REFUSED = 1


@click.command("import", cls=CommandOfFormats)
@click.argument("source", metavar="FILE|FOLDER", type=ANY_PATH)
def import_(
    *,
    name: str = setting("The format of the source.", "--format", type=Choice(NAMES)),
    out: Path = setting("The folder for the dataset.", type=ANY_PATH),
    problems: Path | None = setting(
        "A problem file: each conversation about one of its questions gets its solution.", type=ANY_PATH
    ),
    source: Path,
) -> int:
    """Convert conversations of another format into a dataset.

    Fields that the format lacks stay unset, and the manifest lists them. Exporting the dataset to the same format gives
    the same rows. All files of a folder are read. Rows that cannot be read are left out and reported with file, row
    and reason, and so are ids that come twice; the exit status is then 1. Odd messages are counted: malformed codes,
    missing states, leaked speakers' names, refusals, and verdicts that no program can be compared with.
    """
    if not source.exists():
        raise Failure(f"{source}: no such file or folder")
    with writing_to(out):
        try:
            found = _problems(problems) if problems else None
            counts = import_rows(source, name, out, _rows(source), problem_of=found, report=_report)
        except Failure as cannot:
            raise Failure(f"{cannot}; nothing was written") from cannot
    echo("; ".join([f"{counts.written} conversations in {out}", *counts.remarks()]))
    return _SOME_REFUSED if counts.refused or counts.repeated_ids else 0


def _rows(source: Path) -> Iterator[tuple[str, Row | str]]:
    """Yields the rows, or why one cannot be read, with their places; an empty cell of CSV becomes null."""
    for row in ANY_ROWS.rows(source):
        if isinstance(row, RefusedRow):
            yield row.place, f"{row.field}: {row.reason}"
        elif row.place.partition(":")[0].lower().endswith((".csv", ".tsv")):
            yield row.place, {name: value or None for name, value in row.cells.items()}
        else:
            yield row.place, dict(row.cells)


def _problems(path: Path) -> Callable[[str], Problem | None]:
    by_question = {as_one_line(problem.question): problem for problem in read_problems(path)}
    return lambda question: by_question.get(as_one_line(question))


def _report(refused: str) -> None:
    echo(refused, err=True)
