"""`soliloquy asyncapi`."""

import json
from importlib.metadata import version

import click

from soliloquy.cli.command import Command
from soliloquy.cli.terminal import echo
from soliloquy.runs.assembly import declared
from soliloquy.runtime.handling import Service
from soliloquy.runtime.transports.kafka.asyncapi import document
from soliloquy.v1.events_pb2 import ProblemSubmitted, RunCancelled, RunChanged


@click.command(cls=Command)
def asyncapi() -> None:
    """Print the AsyncAPI 3.0 document of all services, as JSON.

    The channels are the topics, and the operations of a service are the events that it receives and sends. Connects to
    nothing.
    """
    from services.gateway.topics import RECALLED

    command = Service(name="soliloquy", handlers={}, emits=(ProblemSubmitted, RunCancelled))
    # The gateway follows these topics outside any consumer group, as tables.
    gateway = Service(
        name="gateway",
        handlers={},
        emits=(ProblemSubmitted, RunChanged, RunCancelled),
        tables=dict.fromkeys(RECALLED, _ignore),
    )
    described = document([*declared(), gateway, command], version=version("soliloquy"), bootstrap="127.0.0.1:9092")
    echo(json.dumps(described, indent=2))


def _ignore(_: object) -> None:
    """Never runs, since nothing is connected."""
