"""Keeps all services running on one machine: which processes there are, what each serves, and their supervision."""

import asyncio
import logging
import platform
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from soliloquy.dataset.layout import WORKING
from soliloquy.runs.assignment import LOOP, SERVICES, Assignment, GatewayAssignment
from soliloquy.runs.supervision import ProcessSpec, Supervisor
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.topics import shapes
from soliloquy.runtime.transports.kafka import KafkaSettings

# In the folder of the datasets, where `soliloquy dlq` looks for it too.
LOG = f"{WORKING}/log.sqlite"

_log = logging.getLogger(__name__)


def process_names(scales: Mapping[str, int], *, on_kafka: bool, gateway: bool) -> list[str]:
    """Returns the names of all processes, in the order of their assignments and of their metrics ports."""
    if on_kafka:
        names = [f"{name}-{number}" for name, scale in scales.items() for number in range(scale)]
    else:
        # Two processes suffice: what waits for the disk holds up nothing that waits for a model or a sandbox.
        names = ["loop", "collector"]
    return [*names, *(["gateway"] if gateway else [])]


def assignments(
    common: Assignment, data: Path, scales: Mapping[str, int], gateway: GatewayAssignment | None
) -> list[Assignment]:
    """Divides the services between processes; `common` holds the settings that all of them share."""
    kafka = common.transport
    if isinstance(kafka, KafkaSettings):
        # The instance identifies a member of a consumer group on any machine.
        divided = [
            replace(common, services=[name], transport=replace(kafka, instance=f"{platform.node()}-{number}"))
            for name, scale in scales.items()
            for number in range(scale)
        ]
    else:
        try:
            kafka.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Failure(f"{data} cannot be written ({error.strerror}): choose another --data") from error
        divided = [
            replace(common, services=["planner", *LOOP]),
            replace(common, services=["curriculum", "collector"]),
        ]
    if gateway:
        # The first executor runs the programs of chats.
        first = next(place for place, assignment in enumerate(divided) if "executor" in assignment.services)
        divided[first] = replace(divided[first], grpc=gateway.sandbox)
        divided.append(replace(common, gateway=gateway))
    return divided


async def keep_up(specs: Sequence[ProcessSpec], kafka: KafkaSettings | None, where: str) -> None:
    """Restarts processes that exit, until SIGINT or SIGTERM; replaces them one at a time on SIGHUP."""
    if kafka:
        # It loads Kafka's client.
        from soliloquy.runtime.transports.kafka.layout import check

        await check(kafka, [shape.topic for shape in shapes()])
    stopped, hung_up = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number, event in ((signal.SIGINT, stopped), (signal.SIGTERM, stopped), (signal.SIGHUP, hung_up)):
        loop.add_signal_handler(number, event.set)
    supervisor = Supervisor(specs, lasting=True)
    try:
        async with asyncio.TaskGroup() as group:
            supervising = group.create_task(supervisor.run())
            replacing = group.create_task(_replace_on(hung_up, supervisor, len(specs), where))
            await stopped.wait()
            replacing.cancel()
            await supervisor.stop()
            await supervising
    finally:
        await supervisor.stop()


async def _replace_on(hung_up: asyncio.Event, supervisor: Supervisor, count: int, where: str) -> None:
    await supervisor.ready()
    _log.info("%d services ready in %d processes %s", len(SERVICES), count, where)
    while True:
        await hung_up.wait()
        hung_up.clear()
        await supervisor.replace_each()
        _log.info("%d processes replaced", count)
