from pathlib import Path

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import EXISTING_FOLDER, NewFile, writing_to
from soliloquy.cli.terminal import echo
from soliloquy.dataset.card import CARD, card
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.report.writing import REPORT, is_report, write_report
from soliloquy.problems.bank.bank import catalogue


class _Page(NewFile):
    """A page to write; only an earlier report is replaced."""

    def is_ours(self, path: Path) -> bool:
        return is_report(path)


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", type=EXISTING_FOLDER)
def report(
    folder: Path,
    *,
    out: Path | None = setting(
        f"The page to write.  [default: {REPORT} in DIR]", type=_Page(path_type=Path, dir_okay=False)
    ),
) -> None:
    """Write an HTML page with the statistics and all conversations of a dataset.

    The page needs no network. Also writes a dataset card if DIR has none.
    """
    page = out or folder / REPORT
    with writing_to(page):
        counted = write_report(Dataset(folder), page, catalogue)
        if not (folder / CARD).exists():
            (folder / CARD).write_text(card(counted), "utf-8")
    echo(f"The report: {page.resolve().as_uri()}")
