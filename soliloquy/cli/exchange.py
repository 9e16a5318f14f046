"""`soliloquy export` and `import`: datasets in other formats."""

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import ANY_PATH, AS_JSON, Choice, writing_to
from soliloquy.cli.terminal import answer, echo
from soliloquy.dataset.exports.exporting import export as export_dataset
from soliloquy.dataset.exports.format import NAMES, PARTS, ExportOptions, Row, find
from soliloquy.dataset.exports.importing import import_rows
from soliloquy.dataset.exports.splitting import InvalidSplits, Splits
from soliloquy.dataset.reading import Dataset
from soliloquy.problems.book import as_one_line
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.problems.files.reading.rows import RefusedRow
from soliloquy.problems.files.source_format import ANY_ROWS
from soliloquy.runtime.extensions import BadPackage
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Problem


class CommandOfFormats(Command):
    """Lists the formats in its help; only the help imports them all."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        with formatter.section("Formats"):
            formatter.write_dl([(name, _description(name)) for name in NAMES])


def _description(name: str) -> str:
    try:
        form = find(name)
    except BadPackage as bad:
        return str(bad)
    return f"{form.title} ({', '.join(form.suffixes)})" if form.suffixes else form.title


SPLITS = setting("Write several parts, e.g. train=0.9,test=0.1, split by problem.", metavar="NAME=SHARE,..")


def read_splits(text: str | None) -> Splits | None:
    try:
        return Splits.read(text) if text else None
    except InvalidSplits as bad:
        raise click.UsageError(f"--splits: {bad}") from bad


@click.command(cls=CommandOfFormats)
@click.argument("folder", metavar="DIR|URL")
def export(
    *,
    name: str = setting("The format to write.", "--format", type=Choice(NAMES)),
    out: Path = setting("The file to write, or a folder for --splits, hf and preferences.", type=ANY_PATH),
    splits: str | None = SPLITS,
    leave_out: tuple[str, ...] = setting("A part to leave out; may be repeated.", type=Choice(list(PARTS))),
    uncertain: bool = setting("Also export preferences of rules that read, and may be wrong."),
    formulas: bool = setting("Write cells of CSV as they are that a spreadsheet would run."),
    rejected: bool = setting("Export the rejected conversations instead."),
    as_json: bool = AS_JSON,
    folder: str,
) -> None:
    """Write a dataset in another format.

    All conversations about a problem go to the same split. The parts for --leave-out are prompts (the system message),
    solutions, thoughts (of the tutor, with its codes), labels (drawn for the student), raw (the models' answers) and
    hidden (all but the problem and what is said).
    """
    form = find(name)
    if uncertain and not getattr(form, "has_evidence", False):
        raise click.UsageError("--uncertain requires --format preferences")
    parts = {*leave_out} - (set() if form.holds_hidden else {"hidden"})
    if formulas and ".csv" not in form.suffixes:
        raise click.UsageError(f"--formulas requires a format of CSV: {name} is none")
    choice = ExportOptions(parts, uncertain=uncertain, formulas=formulas)
    shares = read_splits(splits)
    with writing_to(out):
        counts = export_dataset(Dataset(folder), name, out, choice=choice, shares=shares, rejected=rejected)
    written = ", ".join(f"{part} {rows}" for part, rows in counts.written.items())
    line = f"{counts.written.total()} rows in {out}" + (f": {written}" if len(counts.written) > 1 else "")
    found = {"written": counts.written, "left_out": counts.left_out, "empty": list(form.empty)}
    answer(found, [line], as_json=as_json)
    if counts.left_out and not as_json:
        echo(f"{counts.left_out} left out: {name} requires {form.wants}", err=True)
    if form.empty and not as_json:
        echo(f"empty fields: {', '.join(form.empty)}", err=True)


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
            found = _problem_of(problems) if problems else None
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


def _problem_of(path: Path) -> Callable[[str], Problem | None]:
    by_question = {as_one_line(problem.question): problem for problem in read_problems(path)}
    return lambda question: by_question.get(as_one_line(question))


def _report(refused: str) -> None:
    echo(refused, err=True)
