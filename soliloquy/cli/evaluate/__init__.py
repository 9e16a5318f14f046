"""`soliloquy evaluate`."""

import click

from soliloquy.cli.lazy import LazyGroup
from soliloquy.recipes.packages import has_part, known_recipes

_OF_RECIPES = {
    name: f"{package}.evaluate.command"
    for name, package in known_recipes().items()
    if has_part(name, "evaluate.command")
}


@click.group(cls=LazyGroup, modules=_OF_RECIPES | {"compare": "soliloquy.cli.evaluate.compare"})
def evaluate() -> None:
    """Evaluate models as tutors, and compare the results."""
