"""Serves a pool over gRPC: `SandboxService`, health and reflection on one address.

Failures that are not the job's become gRPC statuses.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from copy import deepcopy

import grpc

from soliloquy.runtime.grpc_server import GrpcServer
from soliloquy.runtime.tls import ServerTls
from soliloquy.runtime.traces import spans
from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2 import ExecuteRequest, ExecuteResponse, Execution, Job
from soliloquy.v1.sandbox_pb2_grpc import SandboxServiceServicer, add_SandboxServiceServicer_to_server
from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy_services.executor.lane import Busy
from soliloquy_services.executor.policy import LIMITS, SandboxSettings
from soliloquy_services.executor.pool import SandboxPool
from soliloquy_services.executor.submission import LimitExceeded

_log = logging.getLogger(__name__)

Context = grpc.aio.ServicerContext[ExecuteRequest, ExecuteResponse]
Metadata = tuple[tuple[str, str], ...]

SERVICE = sandbox_pb2.DESCRIPTOR.services_by_name["SandboxService"].full_name
# Code over its own limit is answered with an error; a request over this limit is refused unread.
MAX_REQUEST_BYTES = 16 * LIMITS["code_bytes"]
# Jobs of one stream that the pool has at a time; HTTP/2 flow control holds back the rest.
READ_AHEAD = 32
# How long to wait before trying a pool again whose queue is full.
BUSY_SECONDS = 0.1
# With less time left than this, a caller is gone before its job could start.
_LEAST_SECONDS = 0.005


class DeadlinePassed(Exception):
    """The caller's deadline leaves no time to start the job."""


class SandboxServer(SandboxServiceServicer):
    """Runs requests on a pool; a caller that disconnects cancels its waiting jobs."""

    def __init__(self, pool: SandboxPool, settings: SandboxSettings, tls: ServerTls | None = None) -> None:
        self._server = GrpcServer(
            SERVICE,
            lambda server: add_SandboxServiceServicer_to_server(self, server),
            lambda: pool.fault,
            most_bytes=MAX_REQUEST_BYTES,
            credentials=tls.for_grpc() if tls else None,
        )
        self._pool = pool
        self._wall_seconds = settings.wall_seconds
        self._draining = False
        self._reading: set[asyncio.Task[ExecuteRequest | None]] = set()
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self, address: str) -> str:
        """Starts listening and returns the address; port 0 picks a free port."""
        return await self._server.start(address)

    async def stop(self, grace_seconds: float) -> None:
        """Accepts no more jobs, answers the accepted ones within the grace period, and stops listening."""
        await self._server.leave()
        self._draining = True
        for reading in self._reading:
            reading.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_seconds):
                await self._idle.wait()
        await self._server.stop()

    async def Execute(self, request: ExecuteRequest, context: Context) -> ExecuteResponse:
        with self._counted():
            try:
                if self._draining:
                    raise SandboxUnavailable("the sandbox service is shutting down")
                return ExecuteResponse(job_id=request.job.id, execution=await self._execute(request, context))
            except Exception as error:
                return await context.abort(*_status(error))

    async def ExecuteStream(
        self, request_iterator: AsyncIterator[ExecuteRequest], context: Context
    ) -> AsyncIterator[ExecuteResponse]:
        with self._counted():
            running: set[asyncio.Task[ExecuteResponse]] = set()
            try:
                async for response in self._responses(request_iterator, context, running):
                    yield response
            except Exception as error:
                await context.abort(*_status(error))
            finally:
                for job in running:
                    job.cancel()

    async def _responses(
        self, requests: AsyncIterator[ExecuteRequest], context: Context, running: set[asyncio.Task[ExecuteResponse]]
    ) -> AsyncIterator[ExecuteResponse]:
        reading: asyncio.Task[ExecuteRequest | None] | None = None
        at_end = False
        while True:
            if reading is None and not at_end and not self._draining and len(running) < READ_AHEAD:
                reading = asyncio.ensure_future(anext(requests, None))
                self._reading.add(reading)
                reading.add_done_callback(self._reading.discard)
            under_way = running | ({reading} if reading else set())
            if not under_way:
                break
            done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            if reading in done:
                request = None if reading.cancelled() else reading.result()
                at_end = request is None and not reading.cancelled()
                reading = None
                if request:
                    running.add(asyncio.create_task(self._answer(request, context)))
            for job in running & done:
                running.remove(job)
                yield job.result()
        if not at_end:
            raise SandboxUnavailable("the sandbox service is shutting down: jobs without an answer were not run")

    async def _answer(self, request: ExecuteRequest, context: Context) -> ExecuteResponse:
        job_id = request.job.id
        while True:
            try:
                return ExecuteResponse(job_id=job_id, execution=await self._execute(request, context))
            except LimitExceeded as refusal:
                return ExecuteResponse(job_id=job_id, refusal=str(refusal))
            except Busy:
                # Nothing is read meanwhile, so that the caller waits too.
                await asyncio.sleep(BUSY_SECONDS)

    async def _execute(self, request: ExecuteRequest, context: Context) -> Execution:
        if not request.HasField("job"):
            raise LimitExceeded("the request has no job: set its field 'job'")
        caller = str(dict(context.invocation_metadata() or ()).get("traceparent", ""))
        with spans.continue_trace("executor", "sandbox service", "server", caller):
            return await self._pool.execute(self._within_deadline(request.job, context.time_remaining()))

    def _within_deadline(self, job: Job, remaining: float | None) -> Job:
        """Caps the job's wall time at the time that its caller has left."""
        wall_seconds = job.limits.wall_seconds or self._wall_seconds
        if remaining is None or remaining >= wall_seconds or wall_seconds > self._wall_seconds:
            return job
        if remaining < _LEAST_SECONDS:
            raise DeadlinePassed("the deadline passed before the job could start")
        lowered = deepcopy(job)
        lowered.limits.wall_seconds = remaining
        return lowered

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        self._under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()


def _status(error: Exception) -> tuple[grpc.StatusCode, str, Metadata]:
    match error:
        case LimitExceeded():
            return grpc.StatusCode.INVALID_ARGUMENT, str(error), ()
        case Busy():
            pushback = ("grpc-retry-pushback-ms", str(int(BUSY_SECONDS * 1_000)))
            return grpc.StatusCode.RESOURCE_EXHAUSTED, str(error), (pushback,)
        case SandboxUnavailable():
            return grpc.StatusCode.UNAVAILABLE, str(error), ()
        case DeadlinePassed():
            return grpc.StatusCode.DEADLINE_EXCEEDED, str(error), ()
        case _:
            _log.error("internal error in a call", exc_info=error)
            return grpc.StatusCode.INTERNAL, "internal error: see the log of the sandbox service", ()
