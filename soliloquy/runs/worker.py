"""A process at its assignment: one of its own, `python -m soliloquy.runs.worker NAME`, or that of `soliloquy service`.

One of its own has its standard input as a lifeline: the assignment comes in by it, and when it closes the worker ends.
"""

import asyncio
import contextlib
import math
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from services.collector.live_datasets import LiveDatasets
from services.executor.gvisor.runsc import SandboxUnavailable
from services.executor.pool import SandboxPool
from soliloquy.problems.sources import BadProblemFile, UnknownProblems
from soliloquy.runs.assembly import assembled
from soliloquy.runs.assignment import Assignment, GatewayAssignment
from soliloquy.runs.failure import Broken, Failure
from soliloquy.runs.supervision import READY
from soliloquy.runtime.handling import Service
from soliloquy.runtime.listening import CannotListen
from soliloquy.runtime.logs import JSON, set_up
from soliloquy.runtime.metrics import SERVICE_READY
from soliloquy.runtime.model.opening import OpenModels
from soliloquy.runtime.model.settings import BadModelSettings
from soliloquy.runtime.retry import CannotServe
from soliloquy.runtime.stage import Stage
from soliloquy.runtime.topics import RETRY, shapes
from soliloquy.runtime.traces.opening import CannotTrace, recorded
from soliloquy.runtime.transports.embedded import LogUnavailable
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.runtime.transports.port import Transport, Unanswered

if TYPE_CHECKING:
    from services.gateway.service import Gateway

LOOK_SECONDS = 0.1
# What is over sooner is not worth a line: a start, and a fault.
START_SECONDS = 30.0
LASTING_SECONDS = 5.0
# Between two tries to reach a broker that does not answer.
PAUSE_SECONDS = 1.0
# Beyond the grace period, for what closes connections.
CLOSE_SECONDS = 1.0

_HOPELESS = (
    SandboxUnavailable,
    KafkaUnavailable,
    LogUnavailable,
    CannotListen,
    CannotTrace,
    BadProblemFile,
    UnknownProblems,
    BadModelSettings,
    CannotServe,
)


async def work(assignment: Assignment, stopped: asyncio.Event, tell: Callable[[str], None]) -> None:
    """Until it is stopped; raises Failure where it cannot go on. Tells when it serves, and what keeps it from it."""
    try:
        async with asyncio.TaskGroup() as group:
            worker = Worker(assignment)
            serving = group.create_task(worker.serve())
            standing = group.create_task(_tell_standing(worker, tell))
            await stopped.wait()
            # A client that waits for a broker which is gone waits for ever, cancelled or not.
            last = assignment.grace + 2 * CLOSE_SECONDS
            asyncio.get_running_loop().call_later(last, os._exit, Broken.exit_code)
            standing.cancel()
            worker.stop()
            await asyncio.wait([serving], timeout=assignment.grace + CLOSE_SECONDS if worker.at_work else 0.0)
            serving.cancel()
    except ExceptionGroup as faults:
        raise _said(faults) from faults


class Worker:
    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment
        self._stages: Sequence[Stage] = ()
        self._sandboxes: SandboxPool | None = None
        self._models: OpenModels | None = None
        self._datasets: LiveDatasets | None = None
        self._gateway: Gateway | None = None
        self._stopping = asyncio.Event()
        self._delay = "is starting"
        # Where others reach it.
        self.addresses: list[str] = []

    @property
    def at_work(self) -> bool:
        return bool(self._stages or self._gateway)

    @property
    def faults(self) -> list[str]:
        """What keeps it from serving; nothing where it serves."""
        if not self.at_work:
            return [f"{', '.join(self._assignment.names)} {self._delay}"]
        found = [stage.fault for stage in self._stages]
        if self._gateway:
            found.append(self._gateway.fault)
        if self._sandboxes:
            found.append(self._sandboxes.fault or "")
        if self._models:
            found.append(self._models.fault)
        if self._datasets:
            found.append(self._datasets.fault)
        return [fault for fault in found if fault]

    async def serve(self) -> None:
        for name in self._assignment.names:
            SERVICE_READY.labels(name).set_function(lambda: float(not self.faults))
        async with AsyncExitStack() as opened:
            opened.enter_context(recorded(self._assignment.traces))
            if self._assignment.http:
                # It loads a web server, which most workers are without.
                from soliloquy.runtime.health import answering

                address = await opened.enter_async_context(answering(self._assignment.http, lambda: self.faults))
                self.addresses.append(f"http on {address}")
            assembly = await opened.enter_async_context(assembled(self._assignment))
            self._sandboxes = assembly.sandboxes
            self._models = assembly.models
            self._datasets = assembly.datasets
            async with asyncio.TaskGroup() as group:
                if self._assignment.grpc and self._sandboxes:
                    group.create_task(self._answer_calls(self._sandboxes, self._assignment.grpc))
                transport = await self._transport(assembly.services, opened)
                self._stages = [Stage(service, transport) for service in assembly.services]
                for stage in self._stages:
                    group.create_task(_run(stage))
                if orders := self._assignment.gateway:
                    group.create_task(self._receive(orders, transport))

    def stop(self) -> None:
        """Take nothing more; what runs may finish within the grace period."""
        self._stopping.set()
        for stage in self._stages:
            stage.stop(self._assignment.grace)

    async def _answer_calls(self, sandboxes: SandboxPool, address: str) -> None:
        # It loads gRPC.
        from services.executor.server import SandboxServer
        from services.executor.settings import SandboxSettings

        server = SandboxServer(sandboxes, self._assignment.sandbox or SandboxSettings())
        self.addresses.append(f"grpc on {await server.start(address)}")
        try:
            await self._stopping.wait()
        finally:
            await server.stop(self._assignment.grace)

    async def _receive(self, orders: GatewayAssignment, transport: Transport) -> None:
        # It loads what serves a browser and gRPC.
        from soliloquy.runs.gateway.reception import receiving

        async with receiving(orders, self._assignment.model, transport) as reception:
            self._gateway = reception.gateway
            self.addresses += reception.addresses
            await self._stopping.wait()

    async def _transport(self, services: Sequence[Service], opened: AsyncExitStack) -> Transport:
        where = self._assignment.transport
        if isinstance(where, Path):
            return await opened.enter_async_context(open_transport(where))
        patience = self._assignment.patience
        given_up_at = math.inf if patience is None else time.monotonic() + patience
        while True:
            try:
                return await self._kafka(where, services, opened)
            except Exception as error:
                passing = isinstance(error, (KafkaUnavailable, *_passing()))
                if not passing or time.monotonic() >= given_up_at:
                    raise
                self._delay = f"waits for Kafka: {error}"
            await asyncio.sleep(PAUSE_SECONDS)

    async def _kafka(self, settings: KafkaSettings, services: Sequence[Service], opened: AsyncExitStack) -> Transport:
        from soliloquy.runtime.transports.kafka.layout import check

        read = [topic + suffix for service in services for topic in service.topics for suffix in ("", RETRY)]
        # Every topic there is has a place in the gateway's picture.
        await check(settings, [shape.topic for shape in shapes()] if self._assignment.gateway else read)
        return await opened.enter_async_context(open_transport(settings))


async def _run(stage: Stage) -> None:
    try:
        await stage.run()
    except KafkaUnavailable as error:
        raise Broken(str(error)) from error


async def _tell_standing(worker: Worker, tell: Callable[[str], None]) -> None:
    """One line when it serves, one for a fault that lasts, one when it serves again."""
    told, worth_a_line_at = "", time.monotonic() + START_SECONDS
    while True:
        faults = worker.faults
        if not faults:
            worth_a_line_at = time.monotonic() + LASTING_SECONDS
            if told != READY:
                tell(", ".join([READY, *worker.addresses]))
                told = READY
        elif told in ("", READY) and time.monotonic() >= worth_a_line_at:
            tell(told := "; ".join(faults))
        await asyncio.sleep(LOOK_SECONDS)


def _passing() -> tuple[type[Exception], type[Exception]]:
    """What may be over when it is tried again; aiokafka is loaded where there is a Kafka, or a fault."""
    from aiokafka.errors import KafkaError

    return Unanswered, KafkaError


def _said(error: Exception) -> Exception:
    """The first of what went wrong, in one line where a person can mend it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, _passing()):
        return Broken(str(error))
    return Failure(str(error)) if isinstance(error, _HOPELESS) else error


async def _main() -> None:
    lifeline = asyncio.StreamReader(limit=2**20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lifeline), sys.stdin)
    if orders := await lifeline.readline():
        stopped = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, stopped.set)
        closed = asyncio.create_task(lifeline.read())
        closed.add_done_callback(lambda _: stopped.set())
        await work(Assignment.from_json(orders), stopped, _tell)
        closed.cancel()


def _tell(line: str) -> None:
    # Whoever heard it may have been killed; the lifeline says so too.
    with contextlib.suppress(BrokenPipeError):
        print(line, flush=True)


def main() -> int:
    # What the terminal sends reaches every process; the first of them decides what follows.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Whoever keeps it writes its lines as its own are written.
    set_up(re.sub(r"-\d+$", "", sys.argv[1]), JSON)
    try:
        uvloop.run(_main())
    except Failure as failure:
        print(failure, file=sys.stderr)
        return failure.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
