"""`soliloquy service`: one service as a process of its own, as in a container."""

import asyncio
import logging
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import uvloop

from soliloquy.cli.addresses import ADDRESS
from soliloquy.cli.durations import DURATION
from soliloquy.cli.gateway_options import GATEWAY, GRPC, gateway_assignment, taken
from soliloquy.cli.kafka_options import kafka_options
from soliloquy.cli.model_options import model_options
from soliloquy.cli.observing import observing
from soliloquy.cli.service_options import (
    CLASSIFIERS,
    COLLECTOR,
    GRACE,
    SANDBOX,
    SCRIPTED,
    live_settings,
    option,
    sandbox_settings,
    with_options,
)
from soliloquy.runs.assignment import Assignment
from soliloquy.runs.model import ModelSettings
from soliloquy.runs.supervision import READY
from soliloquy.runs.worker import work
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.transports.kafka import KafkaSettings

_PROCESS = (
    option("--http", metavar="HOST:PORT", type=ADDRESS, help="Serve /healthz, /readyz and /metrics there."),
    GRACE,
    option(
        "--kafka-wait",
        "patience",
        default="0s",
        show_default=True,
        type=DURATION,
        help="For a Kafka that cannot be used yet when it starts.",
    ),
)
_OWN = (*_PROCESS, option("--max-in-flight", type=click.IntRange(min=1), help="Events handled at once."))
_SPEAKERS = {
    "planner": "Enrich problems, where a run asks for it, before their conversations start.",
    "student": "Speak as the student.",
    "tutor": "Decide as the tutor whether a reply needs a calculation.",
    "codegen": "Write the code of calculations.",
    "composer": "Write the tutor's replies.",
}
_FURTHER = {"composer": (CLASSIFIERS,)}

_log = logging.getLogger(__name__)


@click.group()
def service() -> None:
    """Run one service as a process of its own, on Kafka.

    A SIGTERM or an interrupt ends it once what runs is finished and committed. The exit status is 1 where a start anew
    may help, and 2 where it would not.
    """


@service.command()
@kafka_options(required=True, member=True)
@with_options(_OWN)
@observing("curriculum")
def curriculum(**options: Any) -> None:
    """Turn submitted problems into conversations."""
    _run("curriculum", **options)


def _speaker(name: str, purpose: str) -> click.Command:
    @kafka_options(required=True, member=True)
    @model_options
    @with_options((*SCRIPTED, *_FURTHER.get(name, ()), *_OWN))
    @observing(name)
    def run(
        *,
        problems: Sequence[str],
        latency: float,
        noise: str,
        models: Models,
        model_cache: Path | None,
        **options: Any,
    ) -> None:
        model = ModelSettings(problems=problems, latency=latency, noise=noise, models=models, cache=model_cache)
        _run(name, model=model, **options)

    return click.command(name, help=purpose)(run)


for name, purpose in _SPEAKERS.items():
    service.add_command(_speaker(name, purpose))


@service.command()
@kafka_options(required=True, member=True)
@with_options(SANDBOX)
@option("--grpc", metavar="HOST:PORT", type=ADDRESS, help="Take jobs of other programs there too.")
@with_options(_OWN)
@observing("executor")
def executor(
    *, sandboxes: int, wall: float, memory: int, audit: bool, max_in_flight: int | None, **options: Any
) -> None:
    """Run code in gVisor."""
    settings = sandbox_settings(sandboxes=sandboxes, wall=wall, memory=memory, audit=audit, max_in_flight=max_in_flight)
    _run("executor", sandbox=settings, **options)


@service.command()
@kafka_options(required=True, member=True)
@with_options((*COLLECTOR, *_OWN))
@observing("collector")
def collector(*, data: Path, store: str, shard_rows: int, shard_seconds: float, **options: Any) -> None:
    """Judge finished conversations and keep them."""
    datasets = live_settings(data=data, store=store, shard_rows=shard_rows, shard_seconds=shard_seconds)
    _run("collector", datasets=datasets, **options)


@service.command()
@kafka_options(required=True)
@option("--listen", required=True, metavar="HOST:PORT", type=ADDRESS, help="Answer over HTTP there; the console too.")
@with_options((GRPC, *GATEWAY))
@option("--data", metavar="DIR", type=click.Path(file_okay=False, exists=True), help="What the collector keeps.")
@option("--store", metavar="URL", help="Where it keeps the datasets instead, as s3://bucket/folder.")
@option("--sandbox", metavar="HOST:PORT", type=ADDRESS, help="The executor's --grpc, for the chat.")
@model_options
@with_options((*SCRIPTED, *_PROCESS))
@observing("gateway")
def gateway(
    *,
    kafka: KafkaSettings,
    listen: str,
    data: str | None,
    store: str | None,
    sandbox: str | None,
    models: Models,
    model_cache: Path | None,
    problems: Sequence[str],
    latency: float,
    noise: str,
    **options: Any,
) -> None:
    """Start, show and steer runs: the console, the HTTP API and gRPC. One at a time."""
    if data and store:
        raise click.UsageError("--data and --store: the datasets lie in one of them")
    assignment = gateway_assignment(
        listen=listen, datasets=store or data, models=models, sandbox=sandbox or "", **taken(options)
    )
    model = ModelSettings(problems=problems, latency=latency, noise=noise, models=models, cache=model_cache)
    uvloop.run(_work(Assignment(services=(), transport=kafka, gateway=assignment, model=model, **options)))


def _run(name: str, *, kafka: KafkaSettings, **options: Any) -> None:
    assignment = Assignment(services=[name], transport=kafka, **options)
    uvloop.run(_work(assignment))


async def _work(assignment: Assignment) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await work(assignment, stopped, _tell)


def _tell(line: str) -> None:
    _log.log(logging.INFO if line.startswith(READY) else logging.WARNING, line)
