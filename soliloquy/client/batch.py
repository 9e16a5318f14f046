"""The jobs of one batch: what is still to be sent, and what has no answer and may have to be sent again."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable

from soliloquy.client.patience import Patience
from soliloquy.v1.sandbox_pb2 import ExecuteRequest, Job

IN_FLIGHT = 256


class Batch:
    def __init__(self, patience: Patience) -> None:
        self.unanswered: dict[str, Job] = {}
        self._patience = patience
        self._room = asyncio.Semaphore(IN_FLIGHT)
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
                raise ValueError(f"two jobs of a batch have the id {job.id!r}: answers are told apart by it")
            if not self.unanswered:
                self._patience.renew()
            self.unanswered[job.id] = job
            self._unsent.put_nowait(job)
        self._complete = True
        self._unsent.put_nowait(None)

    async def requests(self) -> AsyncIterator[ExecuteRequest]:
        """What a stream is to be sent, beginning with what an earlier one left without an answer."""
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
        self._patience.renew()


async def _each(jobs: Iterable[Job] | AsyncIterable[Job]) -> AsyncIterator[Job]:
    if isinstance(jobs, AsyncIterable):
        async for job in jobs:
            yield job
    else:
        for job in jobs:
            yield job
