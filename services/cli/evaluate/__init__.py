"""`soliloquy evaluate`: how good a model is as a tutor."""

import click

from services.cli.lazy import LazyGroup

_MODULES = {name: f"services.cli.evaluate.{name}" for name in ("higgs", "mathdial", "scaffold", "compare")}


@click.group(cls=LazyGroup, modules=_MODULES)
def evaluate() -> None:
    """Evaluate a model as a tutor."""
