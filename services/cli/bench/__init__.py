"""`soliloquy bench`: measures this machine."""

import click

from services.cli.lazy import LazyGroup

_MODULES = {name: f"services.cli.bench.{name}" for name in ("sandbox", "transport", "pipeline", "model")}


@click.group(cls=LazyGroup, modules=_MODULES)
def bench() -> None:
    """Measure this machine."""
