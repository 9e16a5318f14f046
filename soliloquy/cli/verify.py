"""`soliloquy verify`: whether a dataset is what its manifest says."""

import json

import click

from soliloquy.cli.places import PLACE
from soliloquy.dataset.manifest import MANIFEST
from soliloquy.dataset.storage import Storage, StorageUnavailable
from soliloquy.dataset.verify import findings
from soliloquy.runs.failure import Failure

FAULTY = 1


@click.command()
@click.argument("place", metavar="DIR|URL", type=PLACE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.pass_context
def verify(context: click.Context, /, place: Storage, *, as_json: bool) -> None:
    """Recompute every count and checksum of a dataset.

    A line for each thing that is not as its manifest says. The exit status is 0 if there is none, and 1 if there are
    some.
    """
    try:
        found = []
        for line in findings(place):
            found.append(line)
            if not as_json:
                click.echo(line)
    except StorageUnavailable as error:
        raise Failure(str(error)) from error
    if as_json:
        click.echo(json.dumps({"dataset": str(place), "findings": found}))
    elif not found:
        click.echo(f"{place}: all is as {MANIFEST} says")
    context.exit(FAULTY if found else 0)
