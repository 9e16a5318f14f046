"""`soliloquy problems`."""

import click

from soliloquy.cli.lazy import LazyGroup

_MODULES = {
    "list": "soliloquy.cli.problems.listing",
    "show": "soliloquy.cli.problems.show",
    "sample": "soliloquy.cli.problems.sample",
    "generate": "soliloquy.cli.problems.generating",
    "improve": "soliloquy.cli.problems.improving",
    "compare": "soliloquy.cli.problems.compare",
    "check": "soliloquy.cli.problems.check",
    "import": "soliloquy.cli.problems.importing",
    "score": "soliloquy.cli.problems.score",
    "learn-criteria": "soliloquy.cli.problems.learning",
    "dedupe": "soliloquy.cli.problems.dedupe",
    "rate": "soliloquy.cli.problems.rate",
    "split": "soliloquy.cli.problems.split",
}


@click.group(cls=LazyGroup, modules=_MODULES)
def problems() -> None:
    """Show, draw, write, check, compare and import problems."""
