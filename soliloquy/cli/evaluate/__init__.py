import click

from soliloquy.cli.lazy import LazyGroup
from soliloquy.recipes.packages import known_recipes, module

_OF_RECIPES = {name: found for name in known_recipes() if (found := module(name, "evaluate.command"))}


@click.group(cls=LazyGroup, modules=_OF_RECIPES | {"compare": "soliloquy.cli.evaluate.output"})
def evaluate() -> None:
    """Evaluate models as tutors, and compare the results."""
