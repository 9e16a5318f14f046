"""Runs Python code in a sandbox service."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import grpc

from soliloquy.client.calls import RECONNECT_OPTIONS, JobRefused, RetryBudget
from soliloquy.runtime.tls import Tls, open_channel
from soliloquy.runtime.traces.spans import trace_headers
from soliloquy.runtime.values import lane_name, python_value, status_name
from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2 import ExecuteRequest, Job, Limits
from soliloquy.v1.sandbox_pb2_grpc import SandboxServiceStub

__all__ = ["Execution", "Job", "Limits", "Sandbox"]

# As many jobs of one caller as the service runs or holds in line, and fewer than it lets wait.
_IN_FLIGHT = 32


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
                return await self._call(job, budget.seconds_left)
            except grpc.aio.AioRpcError as error:
                await budget.wait(error)

    async def execute_many(self, jobs: Iterable[Job] | AsyncIterable[Job]) -> AsyncGenerator[Execution, None]:
        """Runs any number of jobs and yields each as it ends; a job that the service refuses has status "refused".

        Gives up once none has ended for `deadline_seconds`.
        """
        budget, source = self._budget(), _each(jobs)
        running: dict[asyncio.Future[Any], str] = {}
        coming: asyncio.Future[Job | None] | None = asyncio.ensure_future(anext(source, None))
        try:
            while coming or running:
                awaited = {*running, *([coming] if coming and len(running) < _IN_FLIGHT else [])}
                # The caller may take its time for the next job.
                seconds = budget.seconds_left if running else None
                done, _ = await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    raise budget.unavailable(f"none of {len(running)} jobs ended")
                for ended in running.keys() & done:
                    del running[ended]
                    budget.reset()
                    yield ended.result()
                if coming not in done:
                    continue
                job = coming.result()
                coming = None
                if job is not None:
                    if job.id in running.values():
                        raise ValueError(f"two jobs of a batch have the id {job.id!r}: give each job its own")
                    if not running:
                        budget.reset()
                    running[asyncio.ensure_future(self._answer(job, budget))] = job.id
                    coming = asyncio.ensure_future(anext(source, None))
        finally:
            left = (*running, *([coming] if coming else []))
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _answer(self, job: Job, budget: RetryBudget) -> Execution:
        """Runs a job of a batch, whose other jobs have the same budget."""
        while True:
            try:
                return Execution.from_message(job.id, await self._call(job))
            except grpc.aio.AioRpcError as error:
                try:
                    await budget.wait(error)
                except JobRefused as refused:
                    message = sandbox_pb2.Execution(error=str(refused))
                    return replace(Execution.from_message(job.id, message), status="refused")

    async def _call(self, job: Job, seconds: float | None = None) -> sandbox_pb2.Execution:
        headers = tuple(trace_headers().items())
        response = await self._stub.Execute(ExecuteRequest(job=job), timeout=seconds, metadata=headers)
        return response.execution

    def _budget(self) -> RetryBudget:
        return RetryBudget(f"the sandbox service at {self._address}", self._deadline_seconds, self._tls)


async def _each(jobs: Iterable[Job] | AsyncIterable[Job]) -> AsyncGenerator[Job, None]:
    if isinstance(jobs, AsyncIterable):
        async for job in jobs:
            yield job
    else:
        for job in jobs:
            yield job
