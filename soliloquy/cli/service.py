"""`soliloquy service`: one service as a process of its own, as in a container; `soliloquy up`: all on this machine."""

import logging
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, replace
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import uvloop

from soliloquy.cli.command import Command, Group, option
from soliloquy.cli.gateway_options import GATEWAY, GatewayOptions
from soliloquy.cli.model_options import MODEL
from soliloquy.cli.observe import CONSOLE, PORTS, SCALE, console_address, metrics_addresses, processes
from soliloquy.cli.observing import observing
from soliloquy.cli.options import ADDRESS, DURATION, IN_FLIGHT, free_address, whole, writing_to
from soliloquy.cli.recipes import check_recipes
from soliloquy.cli.service_options import (
    CLASSIFIERS,
    GRACE,
    KAFKA,
    REQUIRED_KAFKA,
    SERVER_TLS,
    STORE,
    TLS_HELP,
    client_tls,
    collector_options,
    from_environment,
    sandbox_options,
)
from soliloquy.cli.terminal import echo, stop_signals
from soliloquy.runs.assignment import Assignment
from soliloquy.runs.model import ModelSettings
from soliloquy.runs.supervision import LOG, READY, Supervisor, assignments, keep_up
from soliloquy.runs.worker import work, worker_spec
from soliloquy.runtime.model.checking import check_endpoints
from soliloquy.runtime.traces.opening import TraceSettings
from soliloquy.runtime.transports.kafka import KafkaSettings

if TYPE_CHECKING:
    from soliloquy_services.collector.settings import LiveSettings
    from soliloquy_services.executor.policy import SandboxSettings

# How long a service waits for a Kafka that is unavailable at its start.
KAFKA_WAIT = "SOLILOQUY_KAFKA_WAIT"
_HTTP = option("Serve /healthz, /readyz and /metrics there.", type=ADDRESS)
_AT_ONCE = option("Events handled at once; fewer spare a weak model.", type=whole(1, IN_FLIGHT))
_GRPC = option("Accept jobs of other programs there too.", type=ADDRESS)
# The services that handle events: what each does, and its own options by the field of its assignment.
_HANDLERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "curriculum": ("Turn submitted problems into conversations.", {}),
    "planner": ("Enrich problems before their conversations start, if the run asks for it.", {"model": MODEL}),
    "student": ("Speak as the student.", {"model": MODEL}),
    "tutor": ("Decide as the tutor whether a reply needs a calculation.", {"model": MODEL}),
    "codegen": ("Write the code of calculations.", {"model": MODEL}),
    "executor": ("Run code in gVisor.", {"sandbox": sandbox_options(), "grpc": _GRPC, "tls": SERVER_TLS}),
    "composer": ("Write the tutor's replies.", {"model": MODEL, "classifiers": CLASSIFIERS}),
    "collector": ("Judge finished conversations and keep them.", {"datasets": collector_options()}),
}

_log = logging.getLogger(__name__)


@click.group(cls=Group)
def service() -> None:
    """Run one service as a process of its own, on Kafka.

    SIGTERM or an interrupt ends it once unfinished work is done and committed. The exit status is 1 if a restart may
    help, and 2 if it would not.
    """


def _handler(name: str, purpose: str, own: Mapping[str, Any]) -> click.Command:
    shared = {"http": _HTTP, "grace": GRACE, "max_in_flight": _AT_ONCE, "traces": observing(name)}

    def run(**options: Any) -> None:
        _run(services=[name], **options)

    declared = {"kafka": REQUIRED_KAFKA, **own, **shared}
    # The command reads its options from there.
    vars(run)["__signature__"] = Signature(
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=None)
            for name, default in declared.items()
        ]
    )
    return click.command(name, cls=Command, help=purpose)(run)


for name, (purpose, own) in _HANDLERS.items():
    service.add_command(_handler(name, purpose, own))


@service.command()
def gateway(
    *,
    listen: str = option("Serve HTTP and the console there.", type=ADDRESS),
    data: str | None = option("The collector's --data.", metavar="DIR", type=click.Path(file_okay=False, exists=True)),
    store: str | None = option("The collector's --store.", metavar=STORE),
    sandbox: str | None = option(f"The executor's --grpc, for chats; {TLS_HELP}", type=ADDRESS),
    kafka: KafkaSettings = REQUIRED_KAFKA,
    gateway: GatewayOptions = GATEWAY,
    model: ModelSettings = MODEL,
    http: str | None = _HTTP,
    grace: float = GRACE,
    traces: TraceSettings = observing("gateway"),
) -> None:
    """Start, show and steer runs: the console, the HTTP API and gRPC. Run one at a time."""
    if data and store:
        raise click.UsageError("--data cannot be used with --store")
    served = gateway.assignment(listen=listen, datasets=store or data, models=model.models, sandbox=sandbox or "")
    served = replace(served, sandbox_tls=client_tls())
    _run(kafka=kafka, services=(), gateway=served, model=model, http=http, grace=grace, traces=traces)


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
    if scales["collector"] > 1 and not datasets.in_tables:
        raise click.UsageError(
            f"--scale: {scales['collector']} collectors would write the same files: use a --store of tables, or one"
        )
    if not kafka and datasets.data == Path():
        raise click.UsageError("up requires --data DIR without --kafka")
    divided = processes(scales, on_kafka=kafka is not None, console=console)
    console = console_address(console, on_kafka=kafka is not None)
    if console is None and (given := [name for name, value in asdict(gateway).items() if value]):
        flag = "tls-cert" if given[0] == "tls" else given[0].replace("_", "-")
        raise click.UsageError(f"--{flag} requires --console")
    served = None
    if console:
        place = datasets.store or str(datasets.data)
        served = gateway.assignment(
            listen=console,
            datasets=place,
            models=model.models,
            sandbox=free_address(),
            data=None if datasets.data == Path() else datasets.data,
        )
    log = datasets.data / LOG
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
    # Its processes are copies of this one from before it asks or counts anything.
    with closing(Supervisor(specs, lasting=True)) as supervisor:
        for fault in uvloop.run(check_endpoints(model.models)):
            echo(f"soliloquy: {fault}; runs wait until it answers", err=True)
        if not kafka:
            with writing_to(datasets.data, option="--data"):
                log.parent.mkdir(parents=True, exist_ok=True)
        uvloop.run(keep_up(supervisor, kafka, where))
