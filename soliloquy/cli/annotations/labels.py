"""`soliloquy annotations apply`, `calibrate` and `preferences`: the uses of what people say."""

from pathlib import Path

import click

from soliloquy.annotation.rows import read_annotations
from soliloquy.annotation.scheme import scheme_of
from soliloquy.annotation.tasks import read_tasks
from soliloquy.cli.annotations.commands import SCHEME
from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, EXISTING_FILE, NEW_FOLDER, writing_to
from soliloquy.cli.tables import measured_table
from soliloquy.cli.terminal import answer
from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.failure import Failure


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

    The decision of an adjudicator counts, else the answer of most annotators; a tie is no label. Conversations or
    turns have the labels in the column `human_labels`, and the card names scheme, annotators and agreement.
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


@click.command(cls=Command)
@click.argument("file", metavar="FILE", type=EXISTING_FILE)
@click.argument("tasks_file", metavar="TASKS", type=EXISTING_FILE)
def preferences(
    *,
    scheme: str = SCHEME,
    out: Path = setting("The folder for the preferences.", type=NEW_FOLDER),
    as_json: bool = AS_JSON,
    file: Path,
    tasks_file: Path,
) -> None:
    """Write the pairs that people compared for `soliloquy train --method dpo` or `kto`.

    A pair counts if an adjudicator or most annotators prefer one side, and if both sides answer one prompt: the first
    answers in which they differ are the pair. Files are those of `soliloquy export --format preferences`.
    """
    from soliloquy.annotation.pairs import preferences as rows_of
    from soliloquy.dataset.exports.files import atomic_output, open_rows
    from soliloquy.dataset.exports.formats.preferences import LABELLED, PAIRS, SUFFIX

    rows = [*rows_of(read_annotations(file), read_tasks(tasks_file), scheme_of(scheme))]
    pairs = sum(kind == PAIRS for kind, _ in rows)
    if not pairs:
        raise Failure(f"{file} has no preference between two answers to one prompt in {tasks_file}")
    with writing_to(out), atomic_output(out) as place:
        place.mkdir()
        for kind in (PAIRS, LABELLED):
            with open_rows(place / f"{kind}{SUFFIX}", SUFFIX) as add:
                for row in (row for of, row in rows if of == kind):
                    add(row)
    answer({"pairs": pairs}, [f"{pairs:,} pairs in {out}"], as_json=as_json)
