"""`python -m benchmarks`: measures this machine."""

import click

from soliloquy.cli.lazy import LazyGroup

_NAMES = ("sandbox", "transport", "pipeline", "dataset", "model", "model-client", "train", "observe", "gateway", "chat")
_MODULES = {name: f"benchmarks.commands.{name.replace('-', '_')}" for name in _NAMES}


@click.group(cls=LazyGroup, modules=_MODULES)
def bench() -> None:
    """Measure this machine."""
