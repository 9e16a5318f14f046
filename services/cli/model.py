"""`soliloquy model`: what answers the roles."""

import click

from services.cli.lazy import LazyGroup

_MODULES = {"serve": "services.cli.model_serve"}


@click.group(cls=LazyGroup, modules=_MODULES)
def model() -> None:
    """Serve a language model."""
