"""`soliloquy model`: serves models."""

import click

from services.cli.lazy import LazyGroup

_MODULES = {"serve": "services.cli.model_serve", "fake": "services.cli.model_fake"}


@click.group(cls=LazyGroup, modules=_MODULES)
def model() -> None:
    """Serve models to the roles of a conversation."""
