"""Serves an assignment, in a process of its own or in `soliloquy service`.

A process of its own reads its assignment from standard input. When that closes, nobody supervises it, and it ends at
once: the supervisor that follows needs its addresses.
"""

import asyncio
import contextlib
import json
import logging
import math
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from soliloquy.runs.assembly import Assembly, assembled
from soliloquy.runs.assignment import Assignment, GatewayAssignment
from soliloquy.runs.supervision import READY, STATUS, ProcessSpec
from soliloquy.runtime import extensions
from soliloquy.runtime.failure import Broken, Failure, first_error
from soliloquy.runtime.handling import Service
from soliloquy.runtime.logs import JSON, set_up
from soliloquy.runtime.metrics import SERVICE_READY
from soliloquy.runtime.model.status import EndpointStatus
from soliloquy.runtime.stage import Stage
from soliloquy.runtime.topics import RETRY, TOPIC_OF, shapes
from soliloquy.runtime.traces.opening import recorded_traces
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.runtime.transports.port import Transport, Unanswered
from soliloquy.v1.events_pb2 import ServiceDescribed

if TYPE_CHECKING:
    from soliloquy_services.collector.datasets import Datasets
    from soliloquy_services.collector.reconciliation import Reconciliation
    from soliloquy_services.executor.pool import SandboxPool
    from soliloquy_services.gateway.service import Gateway

# The pause between two attempts to reach a broker that does not answer.
PAUSE_SECONDS = 1.0


class Worker:
    def __init__(self, assignment: Assignment, others: Sequence[str] = ()) -> None:
        """`others` holds the faults of other processes at any moment."""
        self._assignment = assignment
        self._others = others
        self._stages: Sequence[Stage] = ()
        self._assembly: Assembly | None = None
        self._transport: Transport | None = None
        self._gateway: Gateway | None = None
        self._gateway_answers = False
        self._reconciliation: Reconciliation | None = None
        self._stopping = asyncio.Event()
        self._delay = "is starting"
        # The addresses at which others reach the worker.
        self.addresses: list[str] = []

    @property
    def at_work(self) -> bool:
        return bool(self._stages) or self._gateway_answers

    @property
    def endpoints(self) -> Sequence[EndpointStatus]:
        return self._assembly.models.statuses if self._assembly else []

    @property
    def faults(self) -> list[str]:
        """Returns what keeps it from serving; nothing while it serves."""
        if not self.at_work:
            if self._gateway and self._gateway.fault:
                return [self._gateway.fault]
            return [f"{', '.join(self._assignment.names)} {self._delay}"]
        assert self._assembly
        of_assembly = (self._assembly.sandboxes, self._assembly.models, self._assembly.datasets)
        parts = (self._transport, *self._stages, self._gateway, *of_assembly, self._reconciliation)
        return [part.fault for part in parts if part and part.fault]

    async def serve(self) -> None:
        for name in self._assignment.names:
            SERVICE_READY.labels(name).set_function(lambda: float(not self.faults))
        async with AsyncExitStack() as opened:
            opened.enter_context(recorded_traces(self._assignment.traces))
            if self._assignment.http:
                # It loads a web server, which most workers do without.
                from soliloquy.runtime.health import serve_probes

                address = await opened.enter_async_context(serve_probes(self._assignment.http, lambda: self.faults))
                self.addresses.append(f"http on {address}")
            assembly = await opened.enter_async_context(assembled(self._assignment))
            self._assembly = assembly
            async with asyncio.TaskGroup() as group:
                if self._assignment.grpc and assembly.sandboxes:
                    group.create_task(self._serve_jobs(assembly.sandboxes, self._assignment.grpc))
                transport = self._transport = await self._reached(assembly.services, opened)
                if assembly.datasets:
                    assembly.datasets.installation = transport.installation
                self._stages = [Stage(service, transport) for service in assembly.services]
                for stage in self._stages:
                    group.create_task(_run(stage))
                if assigned := self._assignment.gateway:
                    group.create_task(self._serve_gateway(assigned, transport))
                if assembly.datasets:
                    group.create_task(self._reconcile(assembly.datasets, transport))
                await self._stopping.wait()

    def stop(self) -> None:
        """Takes no further events; unfinished ones have the grace period to finish."""
        self._stopping.set()
        for stage in self._stages:
            stage.stop(self._assignment.grace)

    async def _serve_jobs(self, sandboxes: "SandboxPool", address: str) -> None:
        # It loads gRPC.
        from soliloquy_services.executor.policy import SandboxSettings
        from soliloquy_services.executor.server import SandboxServer

        server = SandboxServer(sandboxes, self._assignment.sandbox or SandboxSettings(), self._assignment.tls)
        self.addresses.append(f"grpc on {await server.start(address)}")
        try:
            await self._stopping.wait()
        finally:
            await server.stop(self._assignment.grace)

    async def _serve_gateway(self, assigned: GatewayAssignment, transport: Transport) -> None:
        # It loads what serves a browser and gRPC.
        from soliloquy.runs.gateway import served

        def made(gateway: "Gateway") -> None:
            self._gateway = gateway

        async with served(assigned, self._assignment.model, transport, self._others, made) as addresses:
            self.addresses += addresses
            self._gateway_answers = True
            await self._stopping.wait()

    async def _reconcile(self, datasets: "Datasets", transport: Transport) -> None:
        from soliloquy_services.collector.reconciliation import Reconciliation

        self._reconciliation = Reconciliation(datasets, transport)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(self._reconciliation.run())
            await self._stopping.wait()
            running.cancel()

    async def _reached(self, services: Sequence[Service], opened: AsyncExitStack) -> Transport:
        where = self._assignment.transport
        if isinstance(where, Path):
            return await opened.enter_async_context(open_transport(where))
        patience = self._assignment.patience
        deadline = math.inf if patience is None else time.monotonic() + patience
        while True:
            try:
                return await self._kafka(where, services, opened)
            except Exception as error:
                may_pass = isinstance(error, (KafkaUnavailable, *transient_errors()))
                if not may_pass or time.monotonic() >= deadline:
                    raise
                self._delay = f"waits for Kafka: {error}"
            await asyncio.sleep(PAUSE_SECONDS)

    async def _kafka(self, settings: KafkaSettings, services: Sequence[Service], opened: AsyncExitStack) -> Transport:
        from soliloquy.runtime.transports.kafka.layout import check

        read = [topic + suffix for service in services for topic in service.topics for suffix in ("", RETRY)]
        read += [
            TOPIC_OF[message].name
            for service in services
            for message in (*service.follows, *service.reads, ServiceDescribed)
        ]
        # The gateway shows every topic.
        await check(settings, [shape.topic for shape in shapes()] if self._assignment.gateway else read)
        return await opened.enter_async_context(open_transport(settings))


async def _run(stage: Stage) -> None:
    try:
        await stage.run()
    except KafkaUnavailable as error:
        raise Broken(str(error)) from error


def transient_errors() -> tuple[type[Exception], type[Exception]]:
    """Returns the errors that may be gone at the next try. Workers without Kafka never load aiokafka otherwise."""
    from aiokafka.errors import KafkaError

    return Unanswered, KafkaError


# How soon it is told that a process serves, and how soon that it does no more.
SOON_SECONDS, LOOK_SECONDS = 0.1, 1.0
REPORT_SECONDS = 0.5
# A start or a fault that is over sooner is not logged.
START_SECONDS = 30.0
LASTING_SECONDS = 5.0
# Added to the grace period for closing connections.
CLOSE_SECONDS = 1.0


async def work(
    assignment: Assignment,
    stopped: asyncio.Event,
    tell: Callable[[str], None],
    report: Callable[[Sequence[EndpointStatus]], None] | None = None,
    others: Sequence[str] = (),
) -> None:
    """Serves until it is stopped, and tells when it is ready and which faults keep it from serving; raises Failure.

    `report` receives how the endpoints of its models stand, whenever that changes. `others` holds the faults of other
    processes at any moment.
    """
    try:
        async with asyncio.TaskGroup() as group:
            worker = Worker(assignment, others)
            serving = group.create_task(worker.serve())
            watching = [group.create_task(_tell_changes(worker, tell))]
            if report:
                watching.append(group.create_task(_report_changes(worker, report)))
            await stopped.wait()
            # A Kafka client may wait for a broker for ever, even when it is cancelled.
            last = assignment.grace + 2 * CLOSE_SECONDS
            asyncio.get_running_loop().call_later(last, os._exit, Broken.exit_code)
            for each in watching:
                each.cancel()
            worker.stop()
            await asyncio.wait([serving], timeout=assignment.grace + CLOSE_SECONDS if worker.at_work else 0.0)
            serving.cancel()
    except ExceptionGroup as faults:
        error = first_error(faults)
        raise (Broken(str(error)) if isinstance(error, transient_errors()) else error) from faults


async def _tell_changes(worker: Worker, tell: Callable[[str], None]) -> None:
    """Tells one line when it serves, one for a fault that lasts, and one when it serves again."""
    last_told, tell_at = "", time.monotonic() + START_SECONDS
    while True:
        faults = worker.faults
        if not faults:
            tell_at = time.monotonic() + LASTING_SECONDS
            if last_told != READY:
                tell(", ".join([READY, *worker.addresses]))
                last_told = READY
        elif last_told in ("", READY) and time.monotonic() >= tell_at:
            tell(last_told := "; ".join(faults))
        await asyncio.sleep(LOOK_SECONDS if last_told == READY else SOON_SECONDS)


async def _report_changes(worker: Worker, report: Callable[[Sequence[EndpointStatus]], None]) -> None:
    """Reports twice a second while a call waits, and once after the last."""
    reported: Sequence[EndpointStatus] = []
    while True:
        endpoints = worker.endpoints
        if endpoints != reported:
            report(endpoints)
            reported = endpoints
        await asyncio.sleep(REPORT_SECONDS)


async def _main() -> None:
    lifeline = asyncio.StreamReader(limit=2**20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lifeline), sys.stdin)
    if line := await lifeline.readline():
        stopped = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, stopped.set)
        others: list[str] = []
        closed = asyncio.create_task(_hear(lifeline, others))
        # A signal to stop may come together with the end of the lifeline.
        closed.add_done_callback(lambda _: closed.cancelled() or loop.call_later(SOON_SECONDS, _end_unless, stopped))
        await work(Assignment.from_json(line), stopped, _tell, _report, others)
        closed.cancel()


def _end_unless(stopped: asyncio.Event) -> None:
    """Ends at once, unless it is stopped and ends within its grace period."""
    if not stopped.is_set():
        os._exit(Broken.exit_code)


async def _hear(lifeline: asyncio.StreamReader, others: list[str]) -> None:
    """Keeps the faults of other processes up to date, until the lifeline closes."""
    async for line in lifeline:
        others[:] = json.loads(line)


def _tell(line: str) -> None:
    # The supervisor may be gone; the lifeline ends this process then.
    with contextlib.suppress(BrokenPipeError):
        print(line, flush=True)


def _report(endpoints: Sequence[EndpointStatus]) -> None:
    _tell(STATUS + json.dumps([asdict(endpoint) for endpoint in endpoints]))


def main(name: str) -> int:
    # Lists of processes show it.
    Path("/proc/self/comm").write_text(name, "utf-8")
    # The supervisor relays the lines in its own format.
    set_up(re.sub(r"-\d+$", "", name), JSON)
    # The command that starts the workers warns of packages once for all.
    logging.getLogger(extensions.__name__).setLevel(logging.ERROR)
    try:
        uvloop.run(_main())
    except Failure as failure:
        print(failure, file=sys.stderr)
        return failure.exit_code
    return 0


def worker_spec(name: str, assignment: Assignment) -> ProcessSpec:
    """The name shows in the list of processes and in log lines."""
    entry: Callable[[], int] = partial(main, name)
    if len([*Path("/proc/self/task").iterdir()]) > 1:
        # A lock that a thread holds while this process is copied is never released in the copy.
        entry = partial(os.execv, sys.executable, [sys.executable, "-m", "soliloquy.runs.worker", name])
    line, hears = assignment.to_json(), assignment.gateway is not None
    return ProcessSpec(name=name, main=entry, assignment=line, grace=assignment.grace, hears=hears)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
