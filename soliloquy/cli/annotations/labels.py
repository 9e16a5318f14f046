"""`soliloquy annotations apply` and `calibrate`: labels of people in a dataset, and rules held against them."""

from pathlib import Path

import click

from soliloquy.annotation.rows import read_annotations
from soliloquy.annotation.scheme import scheme_of
from soliloquy.cli.annotations.commands import SCHEME
from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, EXISTING_FILE, NEW_FOLDER, writing_to
from soliloquy.cli.tables import measured_table
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


@click.command(cls=Command)
@click.argument("folder", metavar="DIR|URL")
def calibrate(
    *,
    scheme: str = setting("The scheme of the labels.", metavar="NAME"),
    question: str = setting("The question that people answered.", metavar="NAME"),
    value: str = setting("The answer that a rule should find.", metavar="VALUE"),
    rejected: bool = setting("Compare the rejected conversations instead."),
    as_json: bool = AS_JSON,
    folder: str,
) -> None:
    """Compare what the rules of a recipe find with what people say of the same turns or conversations.

    DIR is a dataset of `annotations apply`. Precision is the share of a rule's findings that people confirm, recall the
    share of people's that the rule finds, each with its 95 % interval. Rules that condemn and rules that mark count
    alike, and so do judges whose verdicts are marks.
    """
    check_installed("run", "pyarrow")
    from soliloquy.annotation.calibration import calibrate as calibrated
    from soliloquy.dataset.reading import Dataset

    found = calibrated(Dataset(folder).conversations(rejected=rejected), scheme, question, value)
    answer([one.as_json() for one in found], [measured_table("people say", found)], as_json=as_json)
