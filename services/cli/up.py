"""`soliloquy up`: all services on this machine, kept alive."""

import asyncio
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
from services.cli.scales import http_from_option, places, scale_option
from services.cli.service_options import (
    COLLECTOR,
    GRACE,
    SANDBOX,
    SCRIPTED,
    live_settings,
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


@click.command()
@kafka_options(required=True)
@with_options(COLLECTOR)
@scale_option
@http_from_option("Serve health and metrics on this port of 127.0.0.1 and those that follow, one for each process.")
@model_options
@with_options((*SCRIPTED, *SANDBOX, GRACE))
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
        patient=True,
        **options,
    )
    uvloop.run(_keep_up(kafka, list(_posts(whole, kafka, scales, http_from))))


def _posts(whole: Assignment, kafka: KafkaSettings, scales: Mapping[str, int], http_from: int | None) -> Iterator[Post]:
    for name, number, http in places(scales, http_from):
        assignment = replace(
            whole,
            services=[name],
            # Members of a group are told apart by it, wherever they run.
            transport=replace(kafka, instance=f"{platform.node()}-{number}"),
            http=http,
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
    supervisor = Supervisor(posts, _tell)
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
    _tell(f"{len(MAKERS)} services ready in {count} processes on {kafka.bootstrap}")
    while True:
        await hung_up.wait()
        hung_up.clear()
        await supervisor.replace_each()
        _tell(f"{count} processes replaced")


def _tell(line: str) -> None:
    click.echo(line, err=True)
