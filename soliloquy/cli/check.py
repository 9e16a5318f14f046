"""`soliloquy check`."""

import json

import click
from rich.console import Console
from rich.table import Table

from soliloquy.cli.command import Command
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.tables import facts
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.packages import UnknownRecipe
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure
from soliloquy.truth.report import TruthReport

FAULTY = 1


@click.command(cls=Command)
@click.argument("folder", metavar="DIR|URL")
@click.option("--rejected", is_flag=True, help="Check the rejected conversations instead.")
@AS_JSON
@click.pass_context
def check(context: click.Context, /, folder: str, *, rejected: bool, as_json: bool) -> None:
    """Check what is claimed, computed and said in every turn of a dataset.

    Prints a line for each broken rule, with the conversation, the rule, the turn and the evidence. The exit status is 0
    if there are none and 1 if there are some.
    """
    report = TruthReport()
    try:
        for conversation in Dataset(folder).conversations(rejected=rejected):
            report.add(conversation.id, find(conversation.run.recipe).check(conversation))
    except UnknownRecipe as unknown:
        raise Failure(f"conversation {conversation.id} cannot be checked: {unknown}") from unknown
    if as_json:
        click.echo(json.dumps(report.as_json()))
    else:
        _print(report)
    context.exit(FAULTY if report.faults else 0)


def _print(report: TruthReport) -> None:
    for conversation, fault in report.faults:
        click.echo(f"{conversation}  {fault}")
    for pair in report.likeness.alike:
        click.echo(f"{pair.one}  similar wording: {pair.likeness:.0%} of it is also in {pair.other}")
    console = Console()
    console.print(_codes(report))
    figures = report.figures().items()
    console.print(facts({name: f"{each:,.4g}" if isinstance(each, float) else each for name, each in figures}))
    if closest := report.likeness.closest:
        click.echo(f"most similar in wording: {closest.one} and {closest.other}")


def _codes(report: TruthReport) -> Table:
    """Counts the combinations of codes, with a column for each value of the last code."""
    *rows, column = report.labels or ("",)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for label in rows:
        table.add_column(label)
    heads = sorted(report.occurring(column)) if report.labels else []
    for head in heads:
        table.add_column(f"{column} {head}", justify="right")
    for codes in sorted(
        {codes[:-1] for codes in report.codes}, key=lambda codes: [(len(code), code) for code in codes]
    ):
        table.add_row(*codes, *(str(report.codes[*codes, head] or "") for head in heads))
    return table
