"""Serves an assignment: its stages, gateway and probes, over its transport."""

import asyncio
import math
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from soliloquy.runs.assembly import Assembly, assembled
from soliloquy.runs.assignment import Assignment, GatewayAssignment
from soliloquy.runtime.failure import Broken
from soliloquy.runtime.handling import Service
from soliloquy.runtime.metrics import SERVICE_READY
from soliloquy.runtime.model.status import EndpointStatus
from soliloquy.runtime.stage import Stage
from soliloquy.runtime.topics import RETRY, shapes
from soliloquy.runtime.traces.opening import recorded_traces
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.opening import open_transport
from soliloquy.runtime.transports.port import Transport, Unanswered

if TYPE_CHECKING:
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
        self._gateway: Gateway | None = None
        self._stopping = asyncio.Event()
        self._delay = "is starting"
        # The addresses at which others reach the worker.
        self.addresses: list[str] = []

    @property
    def at_work(self) -> bool:
        return bool(self._stages or self._gateway)

    @property
    def endpoints(self) -> Sequence[EndpointStatus]:
        return self._assembly.models.statuses if self._assembly else []

    @property
    def faults(self) -> list[str]:
        """Returns what keeps it from serving; nothing while it serves."""
        if not self.at_work:
            return [f"{', '.join(self._assignment.names)} {self._delay}"]
        assert self._assembly
        parts = (self._gateway, self._assembly.sandboxes, self._assembly.models, self._assembly.datasets)
        return [part.fault for part in (*self._stages, *parts) if part and part.fault]

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
                transport = await self._transport(assembly.services, opened)
                self._stages = [Stage(service, transport) for service in assembly.services]
                for stage in self._stages:
                    group.create_task(_run(stage))
                if assigned := self._assignment.gateway:
                    group.create_task(self._serve_gateway(assigned, transport))
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

        async with served(assigned, self._assignment.model, transport, self._others) as (self._gateway, addresses):
            self.addresses += addresses
            await self._stopping.wait()

    async def _transport(self, services: Sequence[Service], opened: AsyncExitStack) -> Transport:
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
