"""`soliloquy evaluate`."""

import click

from soliloquy.cli.lazy import LazyGroup

_MODULES = {name: f"soliloquy.cli.evaluate.{name}" for name in ("higgs", "mathdial", "scaffold", "compare")}


@click.group(cls=LazyGroup, modules=_MODULES)
def evaluate() -> None:
    """Evaluate models as tutors, and compare the results."""
