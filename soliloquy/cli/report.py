"""`soliloquy report`: a dataset as a page to look at."""

from pathlib import Path

import click

from soliloquy.dataset.card import CARD, card
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.dataset.report.writing import REPORT, write_report
from soliloquy.runs.failure import Failure


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help=f"The page; {REPORT} in DIR by default.")
def report(folder: Path, *, out: Path | None) -> None:
    """Write a page that shows what a dataset comes to and every conversation of it, for any browser, without a network.

    Where DIR has no dataset card yet, that is written too.
    """
    page = out or folder / REPORT
    try:
        counted = write_report(Dataset(folder), page)
        if not (folder / CARD).exists():
            (folder / CARD).write_text(card(counted), "utf-8")
    except NoDataset as missing:
        raise Failure(str(missing)) from missing
    except OSError as error:
        raise Failure(f"{error.filename or page} cannot be written ({error.strerror}): name another --out") from error
    click.echo(f"The report:  {page.resolve().as_uri()}")
