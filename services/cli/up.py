"""`soliloquy up`: all services on this machine, kept alive, with the console."""

import asyncio
import logging
import platform
import signal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import uvloop

from services.cli.addresses import ADDRESS, free_address
from services.cli.failure import Failure
from services.cli.folder import WORKING
from services.cli.gateway_options import GATEWAY, GRPC, gateway_orders, taken
from services.cli.kafka_options import kafka_options
from services.cli.model_options import model_options
from services.cli.observing import observing
from services.cli.service_options import (
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
from services.cli.supervision import Post, Supervisor
from services.cli.wiring import LOOP, MAKERS, Assignment, GatewayOrders, ModelSettings
from services.cli.workers import post
from services.runtime.model.settings import Models
from services.runtime.topics import shapes
from services.runtime.transports.kafka import KafkaSettings, KafkaUnavailable

# Of the folder of --data, and where `soliloquy dlq` looks for it.
LOG = f"{WORKING}/log.sqlite"
CONSOLE = "127.0.0.1:8080"

_log = logging.getLogger(__name__)


def _scales(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    scales = dict.fromkeys(MAKERS, 1)
    for text in given:
        name, _, number = text.partition("=")
        if name not in scales or not number.isdecimal() or not 1 <= int(number) <= 99:
            raise click.BadParameter(f"{text!r} is no scale: write student=2; the services are {', '.join(MAKERS)}")
        scales[name] = int(number)
    if scales["collector"] > 1:
        raise click.BadParameter("there can be one collector only: two would write the same files")
    return scales


SCALE = option(
    "--scale", "scales", multiple=True, callback=_scales, metavar="SERVICE=N", help="Processes of a service."
)


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
    type=click.IntRange(min=1, max=65_000),
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
    if kafka is None and any(scale > 1 for scale in scales.values()):
        raise click.UsageError("--scale says nothing without --kafka: one process then serves the whole loop")
    asked = taken(options)
    console = console or (None if kafka else CONSOLE)
    if console is None and (given := [name for name, value in asked.items() if value]):
        raise click.UsageError(f"--{given[0].replace('_', '-')} says nothing without --console")
    orders = None
    if console:
        where = store or str(data)
        orders = gateway_orders(listen=console, datasets=where, models=models, sandbox=free_address(), **asked)
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
    everywhere = _on_kafka(whole, kafka, scales) if kafka else _in_one_log(whole)
    posts = list(_posts(everywhere, whole, orders, http_from))
    told = f"on {kafka.bootstrap if kafka else data / LOG}"
    if orders:
        told += f", console on {'https' if orders.settings.tls else 'http'}://{console}"
    uvloop.run(_keep_up(kafka, posts, told))


def places(scales: Mapping[str, int]) -> list[tuple[str, int]]:
    """Every process of every service, in the order of their ports."""
    return [(name, number) for name, scale in scales.items() for number in range(scale)]


def _on_kafka(whole: Assignment, kafka: KafkaSettings, scales: Mapping[str, int]) -> Iterator[tuple[str, Assignment]]:
    for name, number in places(scales):
        # Members of a group are told apart by it, wherever they run.
        instance = replace(kafka, instance=f"{platform.node()}-{number}")
        yield f"{name}-{number}", replace(whole, services=[name], transport=instance)


def _in_one_log(whole: Assignment) -> Iterator[tuple[str, Assignment]]:
    """As few processes as keep one that waits for the disk or the sandbox from holding up the rest."""
    data = whole.datasets.data
    try:
        (data / LOG).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"{data} cannot be written ({error.strerror}): choose another --data") from error
    yield "loop", replace(whole, services=["planner", *LOOP])
    yield "collector", replace(whole, services=["curriculum", "collector"])


def _posts(
    everywhere: Iterable[tuple[str, Assignment]],
    whole: Assignment,
    gateway: GatewayOrders | None,
    http_from: int | None,
) -> Iterator[Post]:
    assignments = dict(everywhere)
    if gateway:
        # The chat's programs run in the first executor's sandboxes.
        name = next(name for name, assignment in assignments.items() if "executor" in assignment.services)
        assignments[name] = replace(assignments[name], grpc=gateway.sandbox)
        assignments["gateway"] = replace(whole, gateway=gateway)
    for place, (name, assignment) in enumerate(assignments.items()):
        http = f"127.0.0.1:{http_from + place}" if http_from else None
        yield post(name, replace(assignment, http=http))


async def _keep_up(kafka: KafkaSettings | None, posts: list[Post], where: str) -> None:
    try:
        if kafka:
            # It loads Kafka's client.
            from services.runtime.transports.kafka.layout import check

            await check(kafka, [shape.topic for shape in shapes()])
    except KafkaUnavailable as error:
        raise Failure(str(error)) from error
    stopped, hung_up = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number, event in ((signal.SIGINT, stopped), (signal.SIGTERM, stopped), (signal.SIGHUP, hung_up)):
        loop.add_signal_handler(number, event.set)
    supervisor = Supervisor(posts)
    try:
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(supervisor.run())
            directing = group.create_task(_direct(supervisor, len(posts), where, hung_up))
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
    _log.info("%d services ready in %d processes %s", len(MAKERS), count, where)
    while True:
        await hung_up.wait()
        hung_up.clear()
        await supervisor.replace_each()
        _log.info("%d processes replaced", count)
