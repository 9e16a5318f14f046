"""`soliloquy evaluate`."""

from importlib.util import find_spec

import click

from soliloquy.cli.lazy import LazyGroup
from soliloquy.recipes.packages import known_recipes

_OF_RECIPES = {
    name: f"{package}.evaluate.command" for name, package in known_recipes().items() if find_spec(f"{package}.evaluate")
}


@click.group(cls=LazyGroup, modules=_OF_RECIPES | {"compare": "soliloquy.cli.evaluate.compare"})
def evaluate() -> None:
    """Evaluate models as tutors, and compare the results."""
