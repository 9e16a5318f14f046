"""`soliloquy bench`: measures this machine."""

import click

from services.cli.bench.pipeline import pipeline
from services.cli.bench.sandbox import sandbox
from services.cli.bench.transport import transport


@click.group()
def bench() -> None:
    """Measure this machine."""


for command in (sandbox, transport, pipeline):
    bench.add_command(command)
