"""`soliloquy service`: one service as a process of its own, as in a container."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click
import uvloop

from soliloquy.cli.command import Command, Group, option
from soliloquy.cli.gateway_options import GatewayOptions, gateway_options
from soliloquy.cli.kafka_options import kafka_options
from soliloquy.cli.model_options import model_settings_options
from soliloquy.cli.observing import observing
from soliloquy.cli.options import IN_FLIGHT
from soliloquy.cli.parameters import ADDRESS, DURATION, whole
from soliloquy.cli.recipes import check_recipes
from soliloquy.cli.service_options import (
    CLASSIFIERS,
    GRACE,
    collector_options,
    from_environment,
    sandbox_options,
    with_options,
)
from soliloquy.cli.signals import stop_signals
from soliloquy.cli.tls_options import TLS_HELP, client_tls, server_tls_options
from soliloquy.runs.assignment import Assignment
from soliloquy.runs.model import ModelSettings
from soliloquy.runs.supervision import READY
from soliloquy.runs.worker import work
from soliloquy.runtime.transports.kafka import KafkaSettings

# How long a service waits for a Kafka that is unavailable at its start.
KAFKA_WAIT = "SOLILOQUY_KAFKA_WAIT"
_PROCESS = (option("Serve /healthz, /readyz and /metrics there.", "--http", type=ADDRESS), GRACE)
_HANDLING = (
    *_PROCESS,
    option("Events handled at once; fewer spare a weak model.", "--max-in-flight", type=whole(1, IN_FLIGHT)),
)
# The services that handle events: what each does, and its own options.
_HANDLERS: dict[str, tuple[str, tuple[Callable[[Any], Any], ...]]] = {
    "curriculum": ("Turn submitted problems into conversations.", ()),
    "planner": ("Enrich problems before their conversations start, if the run asks for it.", (model_settings_options,)),
    "student": ("Speak as the student.", (model_settings_options,)),
    "tutor": ("Decide as the tutor whether a reply needs a calculation.", (model_settings_options,)),
    "codegen": ("Write the code of calculations.", (model_settings_options,)),
    "executor": (
        "Run code in gVisor.",
        (
            sandbox_options,
            option("Accept jobs of other programs there too.", "--grpc", type=ADDRESS),
            server_tls_options,
        ),
    ),
    "composer": ("Write the tutor's replies.", (model_settings_options, CLASSIFIERS)),
    "collector": ("Judge finished conversations and keep them.", (collector_options,)),
}

_log = logging.getLogger(__name__)


@click.group(cls=Group)
def service() -> None:
    """Run one service as a process of its own, on Kafka.

    SIGTERM or an interrupt ends it once unfinished work is done and committed. The exit status is 1 if a restart may
    help, and 2 if it would not.
    """


def _handler(name: str, purpose: str, own: Sequence[Callable[[Any], Any]]) -> click.Command:
    @kafka_options(required=True)
    @with_options((*own, *_HANDLING))
    @observing(name)
    def run(**options: Any) -> None:
        _run(services=[name], **options)

    return click.command(name, cls=Command, help=purpose)(run)


for name, (purpose, own) in _HANDLERS.items():
    service.add_command(_handler(name, purpose, own))


@service.command()
@kafka_options(required=True)
@gateway_options
@model_settings_options
@with_options(_PROCESS)
@observing("gateway")
def gateway(
    *,
    listen: str = option("Serve HTTP and the console there.", type=ADDRESS),
    data: str | None = option("The collector's --data.", metavar="DIR", type=click.Path(file_okay=False, exists=True)),
    store: str | None = option("The collector's --store, as s3://bucket/folder.", metavar="URL"),
    sandbox: str | None = option(f"The executor's --grpc, for chats; {TLS_HELP}", type=ADDRESS),
    gateway: GatewayOptions,
    model: ModelSettings,
    **options: Any,
) -> None:
    """Start, show and steer runs: the console, the HTTP API and gRPC. Run one at a time."""
    if data and store:
        raise click.UsageError("--data cannot be used with --store")
    served = gateway.assignment(listen=listen, datasets=store or data, models=model.models, sandbox=sandbox or "")
    _run(services=(), gateway=replace(served, sandbox_tls=client_tls()), model=model, **options)


def _run(*, kafka: KafkaSettings, **options: Any) -> None:
    if options.get("tls") and not options["grpc"]:
        raise click.UsageError("--tls-cert requires --grpc")
    # Ours are loaded with their first event: all of them would take longer than the rest of a start.
    check_recipes(ours=False)
    patience = from_environment(KAFKA_WAIT, DURATION) or 0.0
    assignment = Assignment(transport=kafka, patience=patience, **options)

    async def run() -> None:
        await work(assignment, stop_signals(), _tell)

    uvloop.run(run())


def _tell(line: str) -> None:
    _log.log(logging.INFO if line.startswith(READY) else logging.WARNING, line)
