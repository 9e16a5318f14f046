"""`soliloquy up`: all services on this machine, supervised, with the console."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import uvloop

from soliloquy.cli.command import Command, option
from soliloquy.cli.kafka_options import KAFKA
from soliloquy.cli.model_options import MODEL
from soliloquy.cli.observing import observing
from soliloquy.cli.options import writing_to
from soliloquy.cli.parameters import ADDRESS, free_address
from soliloquy.cli.processes import CONSOLE, PORTS, SCALE, console_address, metrics_addresses, processes
from soliloquy.cli.recipes import check_recipes
from soliloquy.cli.service_options import (
    CLASSIFIERS,
    GATEWAY,
    GRACE,
    GatewayOptions,
    collector_options,
    sandbox_options,
)
from soliloquy.cli.terminal import echo
from soliloquy.runs.assignment import Assignment
from soliloquy.runs.installation import LOG, assignments, keep_up
from soliloquy.runs.model import ModelSettings
from soliloquy.runs.supervision import worker_spec
from soliloquy.runtime.model.checking import check_endpoints
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy.runtime.transports.kafka import KafkaSettings

if TYPE_CHECKING:
    from soliloquy_services.collector.settings import LiveSettings
    from soliloquy_services.executor.policy import SandboxSettings


@click.command(cls=Command)
def up(
    *,
    scales: Mapping[str, int] = SCALE,
    console: str | None = option(
        f"Serve the console and the HTTP API there.  [default: {CONSOLE} without --kafka, none with it]", type=ADDRESS
    ),
    http_from: int | None = option(
        "Serve health and metrics on 127.0.0.1, on this port and the following ones: one for each process.",
        type=PORTS,
        metavar="PORT",
    ),
    kafka: KafkaSettings | None = KAFKA,
    datasets: "LiveSettings" = collector_options(),
    model: ModelSettings = MODEL,
    gateway: GatewayOptions = GATEWAY,
    classifiers: Path | None = CLASSIFIERS,
    grace: float = GRACE,
    sandbox: "SandboxSettings" = sandbox_options(),
    traces: TraceSettings = observing("up"),
) -> None:
    """Run all services on this machine, and restart those that exit.

    They communicate over Kafka or, without one, over a log in the folder of --data. SIGTERM or an interrupt ends them
    once unfinished work is done and committed. SIGHUP replaces them one at a time, while the others continue.

    The models are asked once at the start: a model that its endpoint does not have ends the command. Any other fault
    of a model is reported, and runs wait until it is over.
    """
    check_recipes()
    divided = processes(scales, on_kafka=kafka is not None, console=console)
    console = console_address(console, on_kafka=kafka is not None)
    if console is None and (given := [name for name, value in asdict(gateway).items() if value]):
        raise click.UsageError(f"--{given[0].replace('_', '-')} requires --console")
    for fault in uvloop.run(check_endpoints(model.models)):
        echo(f"soliloquy: {fault}; runs wait until it answers", err=True)
    served = None
    if console:
        place = datasets.store or str(datasets.data)
        served = gateway.assignment(listen=console, datasets=place, models=model.models, sandbox=free_address())
    log = datasets.data / LOG
    if not kafka:
        with writing_to(datasets.data, option="--data"):
            log.parent.mkdir(parents=True, exist_ok=True)
    common = Assignment(
        services=(),
        transport=kafka or log,
        model=model,
        datasets=datasets,
        # A process that restarts while the broker is down must not end the others.
        patience=None,
        classifiers=classifiers,
        grace=grace,
        sandbox=sandbox,
        traces=traces,
    )
    metrics = metrics_addresses(divided, http_from) if http_from else {}
    assigned = assignments(divided, common, served)
    specs = [worker_spec(name, replace(assignment, http=metrics.get(name))) for name, assignment in assigned.items()]
    where = f"on {kafka.bootstrap if kafka else log}"
    if served:
        where += f", console on {'https' if served.settings.tls else 'http'}://{console}"
    uvloop.run(keep_up(specs, kafka, where))
