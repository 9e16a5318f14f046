"""`soliloquy up`: all services on this machine, kept alive, with the console."""

import asyncio
import logging
import platform
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import uvloop

from soliloquy.cli.addresses import ADDRESS, free_address
from soliloquy.cli.gateway_options import GATEWAY, GRPC, gateway_assignment, taken
from soliloquy.cli.kafka_options import kafka_options
from soliloquy.cli.model_options import model_options
from soliloquy.cli.observing import observing
from soliloquy.cli.posts import CONSOLE, PORTS, SCALE, console_of, metrics_of, posts
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
from soliloquy.runs.assignment import LOOP, SERVICES, Assignment, GatewayAssignment
from soliloquy.runs.failure import Failure
from soliloquy.runs.folder import WORKING
from soliloquy.runs.model import ModelSettings
from soliloquy.runs.supervision import ProcessSpec, Supervisor, worker_spec
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.topics import shapes
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable

# Of the folder of --data, and where `soliloquy dlq` looks for it.
LOG = f"{WORKING}/log.sqlite"

_log = logging.getLogger(__name__)


@click.command()
@kafka_options()
@with_options(COLLECTOR)
@SCALE
@option(
    "--console",
    metavar="HOST:PORT",
    type=ADDRESS,
    help=f"Serve the console and the HTTP API there.  [default: {CONSOLE} without --kafka, none with it]",
)
@with_options((GRPC, *GATEWAY))
@option(
    "--http-from",
    type=PORTS,
    metavar="PORT",
    help="Serve health and metrics on this port of 127.0.0.1 and those that follow, one for each process.",
)
@model_options
@with_options((*SCRIPTED, CLASSIFIERS, *SANDBOX, GRACE))
@observing("up")
def up(
    *,
    kafka: KafkaSettings | None,
    data: Path,
    store: str,
    shard_rows: int,
    shard_seconds: float,
    problems: tuple[str, ...],
    latency: float,
    noise: str,
    models: Models,
    model_cache: Path | None,
    sandboxes: int,
    wall: float,
    memory: int,
    audit: bool,
    scales: Mapping[str, int],
    console: str | None,
    http_from: int | None,
    **options: Any,
) -> None:
    """Run all services on this machine, and start again what dies.

    They meet on Kafka or, without one, in a log in the folder of --data. A SIGTERM or an interrupt ends them once what
    runs is finished and committed. A SIGHUP replaces them one after the other, while the rest goes on.
    """
    names = posts(scales, on_kafka=kafka is not None, console=console)
    asked = taken(options)
    console = console_of(console, on_kafka=kafka is not None)
    if console is None and (given := [name for name, value in asked.items() if value]):
        raise click.UsageError(f"--{given[0].replace('_', '-')} says nothing without --console")
    orders = None
    if console:
        where = store or str(data)
        orders = gateway_assignment(listen=console, datasets=where, models=models, sandbox=free_address(), **asked)
    whole = Assignment(
        services=(),
        transport=kafka or data / LOG,
        model=ModelSettings(problems=problems, latency=latency, noise=noise, models=models, cache=model_cache),
        datasets=live_settings(data=data, store=store, shard_rows=shard_rows, shard_seconds=shard_seconds),
        sandbox=sandbox_settings(sandboxes=sandboxes, wall=wall, memory=memory, audit=audit),
        # One process that starts anew while the broker is down must not end the others.
        patience=None,
        **options,
    )
    assigned = _on_kafka(whole, kafka, scales) if kafka else _in_one_log(whole, data)
    metrics = metrics_of(names, http_from) if http_from else {}
    placed = zip(names, _with_gateway(assigned, whole, orders), strict=True)
    specs = [worker_spec(name, replace(assignment, http=metrics.get(name))) for name, assignment in placed]
    told = f"on {kafka.bootstrap if kafka else data / LOG}"
    if orders:
        told += f", console on {'https' if orders.settings.tls else 'http'}://{console}"
    uvloop.run(_keep_up(kafka, specs, told))


def _on_kafka(whole: Assignment, kafka: KafkaSettings, scales: Mapping[str, int]) -> Iterator[Assignment]:
    for name, scale in scales.items():
        for number in range(scale):
            # Members of a group are told apart by it, wherever they run.
            instance = replace(kafka, instance=f"{platform.node()}-{number}")
            yield replace(whole, services=[name], transport=instance)


def _in_one_log(whole: Assignment, data: Path) -> Iterator[Assignment]:
    try:
        (data / LOG).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"{data} cannot be written ({error.strerror}): choose another --data") from error
    yield replace(whole, services=["planner", *LOOP])
    yield replace(whole, services=["curriculum", "collector"])


def _with_gateway(
    assigned: Iterable[Assignment], whole: Assignment, gateway: GatewayAssignment | None
) -> Sequence[Assignment]:
    assignments = list(assigned)
    if gateway:
        # The chat's programs run in the first executor's sandboxes.
        place = next(place for place, assignment in enumerate(assignments) if "executor" in assignment.services)
        assignments[place] = replace(assignments[place], grpc=gateway.sandbox)
        assignments.append(replace(whole, gateway=gateway))
    return assignments


async def _keep_up(kafka: KafkaSettings | None, specs: list[ProcessSpec], where: str) -> None:
    try:
        if kafka:
            # It loads Kafka's client.
            from soliloquy.runtime.transports.kafka.layout import check

            await check(kafka, [shape.topic for shape in shapes()])
    except KafkaUnavailable as error:
        raise Failure(str(error)) from error
    stopped, hung_up = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number, event in ((signal.SIGINT, stopped), (signal.SIGTERM, stopped), (signal.SIGHUP, hung_up)):
        loop.add_signal_handler(number, event.set)
    supervisor = Supervisor(specs)
    try:
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(supervisor.run())
            directing = group.create_task(_direct(supervisor, len(specs), where, hung_up))
            await stopped.wait()
            directing.cancel()
            await supervisor.stop()
            await keeping
    except ExceptionGroup as faults:
        raise faults.exceptions[0] from faults
    finally:
        await supervisor.stop()


async def _direct(supervisor: Supervisor, count: int, where: str, hung_up: asyncio.Event) -> None:
    await supervisor.ready()
    _log.info("%d services ready in %d processes %s", len(SERVICES), count, where)
    while True:
        await hung_up.wait()
        hung_up.clear()
        await supervisor.replace_each()
        _log.info("%d processes replaced", count)
