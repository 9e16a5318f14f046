"""`soliloquy up`: all services on this machine, kept alive."""

import asyncio
import logging
import platform
import signal
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import uvloop

from services.cli.failure import Failure
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
from services.cli.wiring import MAKERS, Assignment, ModelSettings
from services.cli.workers import post
from services.runtime.model.settings import Models
from services.runtime.topics import shapes
from services.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from services.runtime.transports.kafka.layout import check

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
@kafka_options(required=True)
@with_options(COLLECTOR)
@SCALE
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
    kafka: KafkaSettings,
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
    http_from: int | None,
    **options: Any,
) -> None:
    """Run all services on this machine, on Kafka, and start again what dies.

    A SIGTERM or an interrupt ends them once what runs is finished and committed. A SIGHUP replaces them one after the
    other, while the rest goes on.
    """
    whole = Assignment(
        services=(),
        transport=kafka,
        model=ModelSettings(problems=problems, latency=latency, noise=noise, models=models, cache=model_cache),
        datasets=live_settings(data=data, store=store, shard_rows=shard_rows, shard_seconds=shard_seconds),
        sandbox=sandbox_settings(sandboxes=sandboxes, wall=wall, memory=memory, audit=audit),
        # One process that starts anew while the broker is down must not end the others.
        patience=None,
        **options,
    )
    uvloop.run(_keep_up(kafka, list(_posts(whole, kafka, scales, http_from))))


def places(scales: Mapping[str, int]) -> list[tuple[str, int]]:
    """Every process of every service, in the order of their ports."""
    return [(name, number) for name, scale in scales.items() for number in range(scale)]


def _posts(whole: Assignment, kafka: KafkaSettings, scales: Mapping[str, int], http_from: int | None) -> Iterator[Post]:
    for place, (name, number) in enumerate(places(scales)):
        assignment = replace(
            whole,
            services=[name],
            # Members of a group are told apart by it, wherever they run.
            transport=replace(kafka, instance=f"{platform.node()}-{number}"),
            http=f"127.0.0.1:{http_from + place}" if http_from else None,
        )
        yield post(f"{name}-{number}", assignment)


async def _keep_up(kafka: KafkaSettings, posts: list[Post]) -> None:
    try:
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
            directing = group.create_task(_direct(supervisor, len(posts), kafka, hung_up))
            await stopped.wait()
            directing.cancel()
            await supervisor.stop()
            await keeping
    except ExceptionGroup as faults:
        raise faults.exceptions[0] from faults
    finally:
        await supervisor.stop()


async def _direct(supervisor: Supervisor, count: int, kafka: KafkaSettings, hung_up: asyncio.Event) -> None:
    await supervisor.ready()
    _log.info("%d services ready in %d processes on %s", len(MAKERS), count, kafka.bootstrap)
    while True:
        await hung_up.wait()
        hung_up.clear()
        await supervisor.replace_each()
        _log.info("%d processes replaced", count)
