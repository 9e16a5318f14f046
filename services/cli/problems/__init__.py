"""`soliloquy problems`: what a dataset can be grown from."""

import click

from services.cli.lazy import LazyGroup

_MODULES = {
    "list": "services.cli.problems.listing",
    "show": "services.cli.problems.show",
    "sample": "services.cli.problems.sample",
    "generate": "services.cli.problems.generating",
    "improve": "services.cli.problems.improving",
    "compare": "services.cli.problems.compare",
    "check": "services.cli.problems.check",
    "import": "services.cli.problems.importing",
    "score": "services.cli.problems.score",
    "learn-criteria": "services.cli.problems.learning",
    "dedupe": "services.cli.problems.dedupe",
    "rate": "services.cli.problems.rate",
    "split": "services.cli.problems.split",
}


@click.group(cls=LazyGroup, modules=_MODULES)
def problems() -> None:
    """Look at problems, draw them, have them written, check and compare them, bring them in from files."""
