import click

from soliloquy.cli.command import Command
from soliloquy.cli.options import AS_JSON
from soliloquy.cli.parameters import PLACE
from soliloquy.cli.terminal import answer
from soliloquy.dataset.manifest import MANIFEST
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings


@click.command(cls=Command)
@click.argument("place", metavar="DIR|URL", type=PLACE)
def verify(place: Storage, *, as_json: bool = AS_JSON) -> int:
    """Recompute every count and checksum of a dataset.

    Prints a line for each difference from its manifest. The exit status is 0 if there are none and 1 if there are some.
    """
    found = [*findings(place)]
    answer({"dataset": str(place), "findings": found}, found or [f"{place}: matches {MANIFEST}"], as_json=as_json)
    return 1 if found else 0
