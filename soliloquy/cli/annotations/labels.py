"""`soliloquy annotations apply`: what people say, as labels of a dataset."""

from pathlib import Path

import click

from soliloquy.annotation.rows import read_annotations
from soliloquy.annotation.scheme import scheme_of
from soliloquy.cli.annotations.commands import SCHEME
from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, EXISTING_FILE, NEW_FOLDER, writing_to
from soliloquy.cli.terminal import answer
from soliloquy.runtime.extensions import check_installed


@click.command(cls=Command)
@click.argument("file", metavar="FILE", type=EXISTING_FILE)
@click.argument("folder", metavar="DIR|URL")
def apply(
    *,
    scheme: str = SCHEME,
    out: Path = setting("The folder for the labelled dataset.", type=NEW_FOLDER),
    as_json: bool = AS_JSON,
    file: Path,
    folder: str,
) -> None:
    """Write a dataset with the labels of people in it.

    What an adjudicator decided counts, else what most annotators say; a tie is no label. Conversations or turns have
    the labels in the column `human_labels`, and the card names scheme, annotators and agreement.
    """
    check_installed("run", "pyarrow")
    from soliloquy.annotation.labels import apply as apply_labels
    from soliloquy.dataset.exports.files import atomic_output
    from soliloquy.dataset.reading import Dataset

    with writing_to(out), atomic_output(out) as place:
        found = apply_labels(Dataset(folder), read_annotations(file), scheme_of(scheme), place)
    line = f"{found['labels']:,} labels of {found['items']:,} items in {out}"
    unknown = f"; {found['unknown_items']:,} items are not in {folder}" if found["unknown_items"] else ""
    answer(found, [line + unknown], as_json=as_json)
