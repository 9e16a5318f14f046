"""Runs Python code in a sandbox service."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Self

import grpc

from soliloquy.client.calls import RECONNECT_OPTIONS, RetryBudget
from soliloquy.runtime.tls import Tls, open_channel
from soliloquy.runtime.traces.spans import trace_headers
from soliloquy.runtime.values import lane_name, python_value, status_name
from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2 import ExecuteRequest, ExecuteResponse, Job, Limits
from soliloquy.v1.sandbox_pb2_grpc import SandboxServiceStub

__all__ = ["Execution", "Job", "Limits", "Sandbox"]

_Stream = grpc.aio.StreamStreamCall[ExecuteRequest, ExecuteResponse]
# How often a batch that waits for its caller's jobs checks that the service still answers.
_CHECK_SECONDS = 1.0
# The jobs of a batch that may be unanswered at once.
_IN_FLIGHT = 256


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
    def from_message(cls, job_id: str, message: sandbox_pb2.Execution) -> Self:
        return cls(
            job_id=job_id,
            status=status_name(message),
            values={named.name: python_value(named.value) for named in message.values},
            stdout=message.stdout,
            error=message.error,
            error_line=message.error_line,
            lane=lane_name(message),
            isolation=message.isolation,
            runsc_version=message.runsc_version,
            seconds=message.seconds,
            waited_seconds=message.waited_seconds,
            recomputed=tuple(message.recomputed),
        )


class Sandbox:
    """Waits `deadline_seconds` for each answer, and retries while the service is away or busy.

    async with Sandbox("127.0.0.1:50051") as sandbox:
        done = await sandbox.execute("speed = 3 * 1.4", ["speed"])
        print(done.values["speed"])
    """

    def __init__(self, address: str, *, tls: Tls | None = None, deadline_seconds: float = 30.0) -> None:
        self._address = address
        self._tls = tls
        self._deadline_seconds = deadline_seconds

    async def __aenter__(self) -> Self:
        self._channel = open_channel(self._address, self._tls, RECONNECT_OPTIONS)
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
        """Runs the code and reads the variables; raises JobRefused if it asks for more than the service allows."""
        limits = Limits(wall_seconds=wall_seconds, memory_bytes=memory_bytes)
        job = Job(code=code, result_variables=result_variables, limits=limits, single_use=single_use)
        return Execution.from_message("", await self.submit(job))

    async def submit(self, job: Job) -> sandbox_pb2.Execution:
        """Runs a job and returns the service's own message."""
        budget = self._budget()
        while True:
            try:
                response = await self._stub.Execute(
                    ExecuteRequest(job=job), timeout=budget.seconds_left, metadata=tuple(trace_headers().items())
                )
            except grpc.aio.AioRpcError as error:
                await budget.wait(error)
            else:
                return response.execution

    async def execute_many(self, jobs: Iterable[Job] | AsyncIterable[Job]) -> AsyncIterator[Execution]:
        """Runs any number of jobs and yields each as it ends; a job that the service refuses has status "refused"."""
        budget = self._budget()
        batch = _Batch(budget)
        taking = asyncio.create_task(batch.take(jobs))
        try:
            while not batch.done:
                try:
                    async with aclosing(self._answers(batch, taking, budget)) as responses:
                        async for response in responses:
                            batch.answered(response.job_id)
                            yield _execution(response)
                except grpc.aio.AioRpcError as error:
                    await budget.wait(error)
        finally:
            taking.cancel()

    async def _answers(
        self, batch: "_Batch", taking: asyncio.Task[None], budget: RetryBudget
    ) -> AsyncGenerator[ExecuteResponse, None]:
        """Yields the answers of one stream, until it ends."""
        call = self._stub.ExecuteStream(batch.requests(), metadata=tuple(trace_headers().items()))
        try:
            while (response := await self._next_answer(call, batch, taking, budget)) is not None:
                yield response
        finally:
            call.cancel()
        if not batch.done:
            raise budget.unavailable(f"it ended the stream with {len(batch.unanswered)} jobs unanswered")

    async def _next_answer(
        self, call: _Stream, batch: "_Batch", taking: asyncio.Task[None], budget: RetryBudget
    ) -> ExecuteResponse | None:
        """Returns None at the end of the stream; raises whatever the caller's iterable of jobs raised."""
        reading = asyncio.create_task(_read(call))
        try:
            while not reading.done():
                await asyncio.wait(
                    {reading} if taking.done() else {reading, taking},
                    timeout=max(_CHECK_SECONDS, budget.seconds_left),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if taking.done():
                    taking.result()
                if batch.unanswered and not budget.seconds_left:
                    raise budget.unavailable(f"none of {len(batch.unanswered)} jobs ended")
            return reading.result()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    def _budget(self) -> RetryBudget:
        return RetryBudget(f"the sandbox service at {self._address}", self._deadline_seconds, self._tls)


class _Batch:
    """The jobs of one batch: those to send, and those without an answer, which a new stream sends again."""

    def __init__(self, budget: RetryBudget) -> None:
        self.unanswered: dict[str, Job] = {}
        self._budget = budget
        self._room = asyncio.Semaphore(_IN_FLIGHT)
        self._unsent: asyncio.Queue[Job | None] = asyncio.Queue()
        self._complete = False

    @property
    def done(self) -> bool:
        return self._complete and not self.unanswered

    async def take(self, jobs: Iterable[Job] | AsyncIterable[Job]) -> None:
        """Reads the jobs as answers make room for them."""
        async for job in _each(jobs):
            await self._room.acquire()
            if job.id in self.unanswered:
                raise ValueError(f"two jobs of a batch have the id {job.id!r}: give each job its own")
            if not self.unanswered:
                self._budget.reset()
            self.unanswered[job.id] = job
            self._unsent.put_nowait(job)
        self._complete = True
        self._unsent.put_nowait(None)

    async def requests(self) -> AsyncIterator[ExecuteRequest]:
        """Yields the requests of a stream, first the jobs that an earlier stream left unanswered."""
        unsent = self._unsent = asyncio.Queue()
        for job in self.unanswered.values():
            unsent.put_nowait(job)
        if self._complete:
            unsent.put_nowait(None)
        while (next_job := await unsent.get()) is not None:
            yield ExecuteRequest(job=next_job)

    def answered(self, job_id: str) -> None:
        del self.unanswered[job_id]
        self._room.release()
        self._budget.reset()


async def _each(jobs: Iterable[Job] | AsyncIterable[Job]) -> AsyncIterator[Job]:
    if isinstance(jobs, AsyncIterable):
        async for job in jobs:
            yield job
    else:
        for job in jobs:
            yield job


async def _read(call: _Stream) -> ExecuteResponse | None:
    response = await call.read()
    return response if isinstance(response, ExecuteResponse) else None


def _execution(response: ExecuteResponse) -> Execution:
    if response.WhichOneof("outcome") == "refusal":
        refused = sandbox_pb2.Execution(error=response.refusal)
        return replace(Execution.from_message(response.job_id, refused), status="refused")
    return Execution.from_message(response.job_id, response.execution)
