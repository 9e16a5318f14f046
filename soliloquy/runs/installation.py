"""Keeps all services running on one machine: which processes there are, what each serves, and their supervision."""

import asyncio
import logging
import platform
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace

from soliloquy.dataset.layout import WORKING
from soliloquy.runs.assignment import LOOP, SERVICES, Assignment, GatewayAssignment
from soliloquy.runs.supervision import ProcessSpec, Supervisor
from soliloquy.runtime.topics import shapes
from soliloquy.runtime.transports.kafka import KafkaSettings

# In the folder of the datasets, where `soliloquy dlq` looks for it too.
LOG = f"{WORKING}/log.sqlite"

_log = logging.getLogger(__name__)


def processes(scales: Mapping[str, int], *, on_kafka: bool, gateway: bool) -> dict[str, Sequence[str]]:
    """Returns the services of each process by its name, in the order of the metrics ports; the gateway has none."""
    if on_kafka:
        divided = {f"{name}-{number}": [name] for name, scale in scales.items() for number in range(scale)}
    else:
        # Two processes suffice: what waits for the disk holds up nothing that waits for a model or a sandbox.
        divided = {"loop": ["planner", *LOOP], "collector": ["curriculum", "collector"]}
    return {**divided, **({"gateway": []} if gateway else {})}


def assignments(
    divided: Mapping[str, Sequence[str]], common: Assignment, gateway: GatewayAssignment | None
) -> dict[str, Assignment]:
    """Returns the assignment of each process; `common` holds the settings that all of them share."""
    made = {name: replace(common, services=services) for name, services in divided.items()}
    if isinstance(kafka := common.transport, KafkaSettings):
        # The instance identifies a member of a consumer group on any machine.
        for name, one in made.items():
            instance = f"{platform.node()}-{name.rpartition('-')[2]}"
            made[name] = replace(one, transport=replace(kafka, instance=instance))
    if gateway:
        # The first executor runs the programs of chats.
        first = next(name for name, services in divided.items() if "executor" in services)
        made[first] = replace(made[first], grpc=gateway.sandbox)
        made["gateway"] = replace(common, gateway=gateway)
    return made


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
