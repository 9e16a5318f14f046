import json

import click

from soliloquy.cli.command import Command
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.parameters import PLACE
from soliloquy.cli.terminal import echo
from soliloquy.dataset.manifest import MANIFEST
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings

FAULTY = 1


@click.command(cls=Command)
@click.argument("place", metavar="DIR|URL", type=PLACE)
def verify(place: Storage, *, as_json: bool = AS_JSON) -> int:
    """Recompute every count and checksum of a dataset.

    Prints a line for each difference from its manifest. The exit status is 0 if there are none and 1 if there are some.
    """
    found = []
    for line in findings(place):
        found.append(line)
        if not as_json:
            echo(line)
    if as_json:
        echo(json.dumps({"dataset": str(place), "findings": found}))
    elif not found:
        echo(f"{place}: matches {MANIFEST}")
    return FAULTY if found else 0
