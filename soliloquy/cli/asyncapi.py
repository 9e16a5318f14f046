"""`soliloquy asyncapi`."""

import json
from importlib.metadata import version

import click

from soliloquy.cli.command import Command
from soliloquy.cli.terminal import echo
from soliloquy.runs.assembly import declared, steering
from soliloquy.runtime.transports.kafka.asyncapi import document


@click.command(cls=Command)
def asyncapi() -> None:
    """Print the AsyncAPI 3.0 document of all services, as JSON.

    The channels are the topics, and the operations of a service are the events that it receives and sends. Connects to
    nothing.
    """
    described = document([*declared(), *steering()], version=version("soliloquy"), bootstrap="127.0.0.1:9092")
    echo(json.dumps(described, indent=2))
