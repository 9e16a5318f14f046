"""`soliloquy push` and `pull`: datasets on the Hugging Face hub."""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.exchange import SPLITS, read_splits
from soliloquy.cli.options import ANY_PATH, AS_JSON, EXISTING_FOLDER, writing_to
from soliloquy.cli.terminal import answer, echo
from soliloquy.dataset.card import CARD, card
from soliloquy.dataset.exports.splitting import Splits
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.report.writing import write_report
from soliloquy.problems.bank.bank import catalogue

if TYPE_CHECKING:
    from soliloquy.dataset.hub import Hub


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", type=EXISTING_FOLDER)
@click.argument("url", metavar="hf://NAMESPACE/NAME")
def push(
    folder: Path,
    url: str,
    *,
    public: bool = setting("Let everybody read it; otherwise the repository is private."),
    splits: str | None = SPLITS,
    as_json: bool = AS_JSON,
) -> None:
    """Push a dataset to the Hugging Face hub.

    Uploads the folder's files with its card (README.md, or a new one), and the accepted conversations once more under
    data/, as the hub's viewer and load_dataset show them. A second push uploads what changed. HF_TOKEN holds the token,
    HF_ENDPOINT another hub's address.
    """
    hub, dataset = _hub(url), Dataset(folder)
    shares = read_splits(splits) or Splits(of={"train": 1.0})
    pushed = hub.push(dataset, _card(dataset, folder), shares, public=public)
    told = {"url": pushed.url, "private": pushed.is_private, "changed": pushed.is_changed, "rows": pushed.rows}
    whose = "private" if pushed.is_private else "public"
    done = f"{pushed.rows.total()} conversations in {pushed.url} ({whose})"
    answer(told, [done if pushed.is_changed else f"{pushed.url} ({whose}) has all of it already"], as_json=as_json)


def _hub(url: str) -> "Hub":
    from huggingface_hub.utils.tqdm import disable_progress_bars

    from soliloquy.dataset.hub import Hub

    if not sys.stderr.isatty():
        disable_progress_bars()
    return Hub(url)


def _card(dataset: Dataset, folder: Path) -> str:
    if (folder / CARD).is_file():
        return (folder / CARD).read_text("utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        return card(write_report(dataset, Path(scratch) / "report.html", catalogue))


@click.command(cls=Command)
@click.argument("url", metavar="hf://NAMESPACE/NAME")
def pull(url: str, *, out: Path = setting("The folder to create.", type=ANY_PATH)) -> None:
    """Pull a dataset from the Hugging Face hub that was pushed there.

    All commands take the folder. A private dataset requires HF_TOKEN.
    """
    with writing_to(out):
        _hub(url).pull(out)
    echo(f"{Dataset(str(out)).count()} conversations in {out}")
