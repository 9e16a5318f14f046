import click

from soliloquy.cli.lazy import LazyGroup
from soliloquy.recipes.packages import known_recipes, module
from soliloquy.runtime.extensions import Extensions

_OF_RECIPES = {name: found for name in known_recipes() if (found := module(name, "evaluate.command"))}
# Modules with a command of the entry's name each.
_BENCHMARKS = {name: packages[0] for name, packages in Extensions("benchmark", "soliloquy.benchmarks").claims.items()}


_OF_REPORTS = {"compare": "soliloquy.cli.evaluate.output", "people": "soliloquy.cli.evaluate.people"}


@click.group(cls=LazyGroup, modules=_OF_RECIPES | _BENCHMARKS | _OF_REPORTS)
def evaluate() -> None:
    """Evaluate models as tutors, and compare the results."""
