import click

from soliloquy.cli.lazy import LazyGroup
from soliloquy.recipes.packages import known_recipes, part

_MODULES = {
    "list": "soliloquy.cli.problems.banks",
    "show": "soliloquy.cli.problems.banks",
    "sample": "soliloquy.cli.problems.banks",
    "check": "soliloquy.cli.problems.files",
    "verify": "soliloquy.cli.problems.verify",
    "import": "soliloquy.cli.problems.files",
    "dedupe": "soliloquy.cli.problems.files",
    "split": "soliloquy.cli.problems.files",
}
for _recipe in known_recipes():
    _MODULES |= getattr(part(_recipe, "commands"), "PROBLEMS", {})


@click.group(cls=LazyGroup, modules=_MODULES)
def problems() -> None:
    """Show, draw, write, check, compare and import problems."""
