"""Runs Python in a sandbox service, from a program of one's own."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Self

import grpc

from soliloquy.client.batch import Batch
from soliloquy.client.patience import JobRefused, Patience, ServiceUnavailable
from soliloquy.client.values import Unserialisable, python_value
from soliloquy.runtime.traces.spans import carried
from soliloquy.runtime.values import lane_name, status_name
from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2 import ExecuteRequest, ExecuteResponse, Job, Limits
from soliloquy.v1.sandbox_pb2_grpc import SandboxServiceStub

__all__ = ["Execution", "Job", "JobRefused", "Limits", "SandboxClient", "ServiceUnavailable", "Unserialisable"]

_OPTIONS = (
    # A service that comes back is found at once: the pauses between tries are the client's own.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)
_Stream = grpc.aio.StreamStreamCall[ExecuteRequest, ExecuteResponse]
# How often a batch whose jobs are still to come looks whether its service is.
_LOOK_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Execution:
    """How a job ended: `status` is "ok", or `error` says why not; `values` are Python objects."""

    job_id: str
    status: str
    values: dict[str, Any]
    stdout: str
    error: str
    error_line: int
    lane: str
    isolation: str
    runsc_version: str
    seconds: float
    waited_seconds: float
    recomputed: tuple[str, ...]

    @classmethod
    def of(cls, job_id: str, done: sandbox_pb2.Execution) -> Self:
        return cls(
            job_id=job_id,
            status=status_name(done),
            values={named.name: python_value(named.value) for named in done.values},
            stdout=done.stdout,
            error=done.error,
            error_line=done.error_line,
            lane=lane_name(done),
            isolation=done.isolation,
            runsc_version=done.runsc_version,
            seconds=done.seconds,
            waited_seconds=done.waited_seconds,
            recomputed=tuple(done.recomputed),
        )


class SandboxClient:
    """Waits for each answer as long as its deadline; tries again meanwhile where the service is away or busy."""

    def __init__(self, address: str, *, deadline_seconds: float = 30.0) -> None:
        self._address = address
        self._deadline_seconds = deadline_seconds

    async def __aenter__(self) -> Self:
        self._channel = grpc.aio.insecure_channel(self._address, options=_OPTIONS)
        self._stub = SandboxServiceStub(self._channel)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    async def execute(
        self,
        code: str,
        result_variables: Sequence[str] = (),
        *,
        wall_seconds: float | None = None,
        memory_bytes: int | None = None,
        single_use: bool = False,
    ) -> Execution:
        """Runs the code and reads the variables; JobRefused where it asks for more than the service allows."""
        limits = Limits(wall_seconds=wall_seconds, memory_bytes=memory_bytes)
        job = Job(code=code, result_variables=result_variables, limits=limits, single_use=single_use)
        return Execution.of("", await self.submit(job))

    async def submit(self, job: Job) -> sandbox_pb2.Execution:
        """The job's outcome as the service tells it."""
        patience = self._patience()
        while True:
            try:
                response = await self._stub.Execute(
                    ExecuteRequest(job=job), timeout=patience.left, metadata=tuple(carried().items())
                )
            except grpc.aio.AioRpcError as error:
                await patience.outlast(error)
            else:
                return response.execution

    async def execute_many(self, jobs: Iterable[Job] | AsyncIterable[Job]) -> AsyncIterator[Execution]:
        """Runs a batch of any length, answers as jobs end; one that the service refuses has the status "refused"."""
        patience = self._patience()
        batch = Batch(patience)
        taking = asyncio.create_task(batch.take(jobs))
        try:
            while not batch.done:
                try:
                    async with aclosing(self._answers(batch, taking, patience)) as responses:
                        async for response in responses:
                            batch.answered(response.job_id)
                            yield _execution(response)
                except grpc.aio.AioRpcError as error:
                    await patience.outlast(error)
        finally:
            taking.cancel()

    async def _answers(
        self, batch: Batch, taking: asyncio.Task[None], patience: Patience
    ) -> AsyncGenerator[ExecuteResponse, None]:
        """Those of one stream, for as long as it lasts."""
        call = self._stub.ExecuteStream(batch.requests(), metadata=tuple(carried().items()))
        try:
            while (response := await self._next_answer(call, batch, taking, patience)) is not None:
                yield response
        finally:
            call.cancel()
        if not batch.done:
            raise patience.lost(f"it ended the stream with {len(batch.unanswered)} jobs unanswered")

    async def _next_answer(
        self, call: _Stream, batch: Batch, taking: asyncio.Task[None], patience: Patience
    ) -> ExecuteResponse | None:
        """None at the end of the stream; what the caller's own jobs raise is raised here."""
        reading = asyncio.create_task(_read(call))
        try:
            while not reading.done():
                await asyncio.wait(
                    {reading} if taking.done() else {reading, taking},
                    timeout=max(_LOOK_SECONDS, patience.left),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if taking.done():
                    taking.result()
                if batch.unanswered and not patience.left:
                    raise patience.lost(f"none of {len(batch.unanswered)} jobs ended")
            return reading.result()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    def _patience(self) -> Patience:
        return Patience(f"the sandbox service at {self._address}", self._deadline_seconds)


async def _read(call: _Stream) -> ExecuteResponse | None:
    response = await call.read()
    return response if isinstance(response, ExecuteResponse) else None


def _execution(response: ExecuteResponse) -> Execution:
    if response.WhichOneof("outcome") == "refusal":
        refused = sandbox_pb2.Execution(error=response.refusal)
        return replace(Execution.of(response.job_id, refused), status="refused")
    return Execution.of(response.job_id, response.execution)
