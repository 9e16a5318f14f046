"""`soliloquy problems`: what a dataset can be grown from."""

import click

from services.cli.lazy import LazyGroup

_MODULES = {
    "list": "services.cli.problems.listing",
    "show": "services.cli.problems.show",
    "sample": "services.cli.problems.sample",
    "check": "services.cli.problems.check",
    "import": "services.cli.problems.importing",
    "dedupe": "services.cli.problems.dedupe",
    "rate": "services.cli.problems.rate",
    "split": "services.cli.problems.split",
}


@click.group(cls=LazyGroup, modules=_MODULES)
def problems() -> None:
    """Look at problems, draw them, check them, bring them in from files."""
