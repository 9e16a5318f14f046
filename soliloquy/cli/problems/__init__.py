"""`soliloquy problems`."""

import click

from soliloquy.cli.lazy import LazyGroup
from soliloquy.recipes.packages import known_recipes, part

_MODULES = {
    "list": "soliloquy.cli.problems.listing",
    "show": "soliloquy.cli.problems.show",
    "sample": "soliloquy.cli.problems.sample",
    "check": "soliloquy.cli.problems.check",
    "verify": "soliloquy.cli.problems.verify",
    "import": "soliloquy.cli.problems.importing",
    "dedupe": "soliloquy.cli.problems.dedupe",
    "split": "soliloquy.cli.problems.split",
}
for _recipe in known_recipes():
    _MODULES |= getattr(part(_recipe, "commands"), "PROBLEMS", {})


@click.group(cls=LazyGroup, modules=_MODULES)
def problems() -> None:
    """Show, draw, write, check, compare and import problems."""
