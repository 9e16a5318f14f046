"""`soliloquy model`."""

import click

from soliloquy.cli.lazy import LazyGroup

_MODULES = {"serve": "soliloquy.cli.model_serve", "fake": "soliloquy.cli.model_fake"}


@click.group(cls=LazyGroup, modules=_MODULES)
def model() -> None:
    """Serve models."""
