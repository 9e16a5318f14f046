"""`soliloquy import`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.errors import writing_to
from soliloquy.cli.export import CommandOfFormats
from soliloquy.cli.parameters import Choice
from soliloquy.cli.terminal import echo
from soliloquy.dataset.exports.format import NAMES
from soliloquy.dataset.exports.importing import import_rows
from soliloquy.problems.files.reading.rows import RefusedRow
from soliloquy.problems.files.source_format import SourceFormat
from soliloquy.runtime.failure import Failure

_READING = SourceFormat(reader="by suffix", solution="prose", needs=(), columns={})


@click.command("import", cls=CommandOfFormats)
@click.argument("source", metavar="FILE|FOLDER", type=click.Path(path_type=Path))
@click.option("--format", "name", required=True, type=Choice(NAMES), help="The format of the source.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder for the dataset.")
def import_(*, source: Path, name: str, out: Path) -> None:
    """Convert conversations of another format into a dataset.

    Fields that the format lacks stay unset, and the manifest lists them. Exporting the dataset to the same format gives
    the same rows.
    """
    if not source.exists():
        raise Failure(f"{source}: no such file or folder")
    with writing_to(out):
        try:
            count = import_rows(source, name, out, _rows(source))
        except Failure as cannot:
            raise Failure(f"{cannot}; nothing was written") from cannot
    echo(f"{count} conversations in {out}")


def _rows(source: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the rows with their places; an empty cell of CSV becomes null."""
    is_table = source.suffix.lower() in (".csv", ".tsv")
    for row in _READING.rows(source):
        if isinstance(row, RefusedRow):
            raise Failure(str(row))
        cells = {name: value or None for name, value in row.cells.items()} if is_table else dict(row.cells)
        yield row.place, cells
