"""`soliloquy evaluate people`."""

from pathlib import Path

import click

from soliloquy.annotation.rows import read_annotations
from soliloquy.annotation.scheme import scheme_of
from soliloquy.cli.annotations.commands import SCHEME
from soliloquy.cli.command import Command
from soliloquy.cli.options import AS_JSON, EXISTING_FILE, EXISTING_FOLDER
from soliloquy.cli.tables import table
from soliloquy.cli.terminal import answer


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", type=EXISTING_FOLDER)
@click.argument("file", metavar="FILE", type=EXISTING_FILE)
def people(*, scheme: str = SCHEME, as_json: bool = AS_JSON, folder: Path, file: Path) -> None:
    """Put what people say of the cases of an evaluation into its report.

    DIR is an evaluation, FILE what annotators said of tasks that `soliloquy annotations sample DIR` drew. The questions
    that are named like metrics stand beside them: the share of yes with its 95 % interval, the kappa of people and the
    automatic judgement, and the alpha of the people.
    """
    from soliloquy_training.evaluation.comparison import read
    from soliloquy_training.evaluation.people import add_people, judged_by_people, people_rows

    found = judged_by_people(folder, read_annotations(file), scheme_of(scheme))
    add_people(folder, found)
    [evaluation] = read([folder]).values()
    heads, rows = people_rows(evaluation.report, found)
    answer(found, [table(*heads, rows=rows, align="left")], as_json=as_json)
