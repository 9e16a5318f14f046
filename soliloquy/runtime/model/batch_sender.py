"""Sends requests in batches, and takes in their replies. One process of the run does, whoever asks."""

import asyncio
import logging
import random
import re
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from soliloquy.runtime.model import metrics
from soliloquy.runtime.model.batch_api import BatchApi, Job, Missing
from soliloquy.runtime.model.batch_lines import FileBatches, line_of
from soliloquy.runtime.model.batch_messages import MessageBatches
from soliloquy.runtime.model.batch_table import ENDED, LOST, UNDONE, Batch, BatchTable, Line
from soliloquy.runtime.model.dialects import BATCH_FORMS, dialect_of
from soliloquy.runtime.model.faults import EndpointRefuses, RetryableFault, Throttled, TimedOut
from soliloquy.runtime.model.keys import key_of
from soliloquy.runtime.model.openai_http import OpenAIConnection
from soliloquy.runtime.model.settings import Endpoint, Models, described
from soliloquy.runtime.model.spending import BudgetUsed, Spending, is_free
from soliloquy.runtime.model.status import EndpointStatus

LOOK_SECONDS = 0.2
# A batch is asked for when a tenth of its age has passed again, within these bounds.
POLL_SECONDS = (0.2, 30.0)
POLL_SHARE = 0.1
# A batch whose making got no reply may show up for so long before it is made again.
SHOW_SECONDS = 60.0
# How long a run that is over waits for batches that it no longer needs.
SETTLE_SECONDS = 10.0
# A batch that is missing so often is lost; a new one may not show at once.
MISSES = 3
# So many batches in a row that an endpoint does not begin with are no accident.
FAILURES = 3
# How many lines are taken in at once.
_AT_ONCE = 100
_PAUSES = (0.5, 30.0)
# The endpoint has enough to do: what waits goes on when it is done with some, or after so long.
HOLD_SECONDS = 60.0
_FULL = re.compile(r"token_limit_exceeded|enqueued|too many batches|rate_limit", re.IGNORECASE)

_log = logging.getLogger(__name__)


class BatchSender:
    """Fills and sends the batches of one endpoint."""

    def __init__(self, name: str, endpoint: Endpoint, api: BatchApi[Any], table: BatchTable, folder: Path) -> None:
        """`folder` has room for the file of a batch."""
        self._name = name
        self._endpoint = endpoint
        self._where = described(name, endpoint)
        self._api = api
        self._table = table
        self._folder = folder
        # When to ask for each batch again, and how often it was missing.
        self._due: dict[str, float] = {}
        self._misses: dict[str, int] = {}
        self._failures = 0
        # Until when to send nothing, unless a batch is done before.
        self._held_until = 0.0
        self._failing_since: float | None = None
        self._error = ""
        self._is_refused = False

    @property
    def status(self) -> EndpointStatus:
        batches = [batch for batch in self._table.open_batches(self._name) if batch.posted]
        batched = sum(batch.requests for batch in batches)
        failing = time.monotonic() - self._failing_since if self._failing_since is not None else 0.0
        return EndpointStatus(
            where=self._where,
            waiting=0,
            oldest_seconds=0.0,
            in_flight=batched,
            failing_seconds=failing,
            error=self._error,
            refused=self._is_refused,
            batches=len(batches),
            batched=batched,
        )

    async def run(self) -> None:
        pause = _PAUSES[0]
        while True:
            try:
                await self._round()
                self._export()
            except TimeoutError:
                self._failed(TimedOut("a call about a batch got no answer in time"))
            except (RetryableFault, EndpointRefuses) as fault:
                self._failed(fault)
                pause = max(pause, getattr(fault, "after", 0.0))
            else:
                self._failing_since, self._error, self._is_refused = None, "", False
                pause = _PAUSES[0]
                await asyncio.sleep(LOOK_SECONDS)
                continue
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(_PAUSES[1], 2 * pause)

    async def settle(self) -> None:
        """Takes in what the endpoint still works on when the run needs no more; it does no more than it has begun."""
        cancelled: set[str] = set()
        until = time.monotonic() + SETTLE_SECONDS
        while batches := self._table.open_batches(self._name):
            for batch in batches:
                if not batch.posted or time.monotonic() >= until:
                    self._end(batch, LOST if batch.posted else UNDONE)
                elif batch.remote in cancelled:
                    await self._tidy(self._look(batch))
                elif batch.remote:
                    cancelled.add(batch.remote)
                    await self._tidy(self._api.cancel(batch.remote))
                else:
                    await self._tidy(self._find_again(batch))
            await asyncio.sleep(LOOK_SECONDS)
        self._export()

    def _export(self) -> None:
        status = self.status
        metrics.BATCHES.labels(self._name).set(status.batches)
        metrics.BATCHED.labels(self._name).set(status.batched)
        unsent = sum(batch.requests for batch in self._table.open_batches(self._name) if not batch.posted)
        metrics.UNBATCHED.labels(self._name).set(self._table.waiting(self._name).requests + unsent)

    def _failed(self, fault: Exception) -> None:
        if isinstance(fault, RetryableFault):
            metrics.FAULTS.labels(self._name, fault.kind).inc()
        self._failing_since = self._failing_since or time.monotonic()
        self._error = str(fault)
        # A budget that is used up ends the run itself, once its batches are done.
        self._is_refused = isinstance(fault, EndpointRefuses) and not isinstance(fault, BudgetUsed)

    async def _round(self) -> None:
        batches = self._table.open_batches(self._name)
        now = time.monotonic()
        for batch in batches:
            if not batch.remote:
                await self._send(batch)
            elif self._due.get(batch.id, 0.0) <= now:
                await self._look(batch)
        while self._may_send and self._is_ready():
            await self._send(self._table.fill(self._name, self._endpoint.batch_size, self._most_bytes))

    @property
    def _may_send(self) -> bool:
        """Whether the endpoint and the budget have room for another batch."""
        return self._held_until <= time.monotonic() and self._table.has_budget

    @property
    def _most_bytes(self) -> int:
        return self._api.form.bytes - self._api.form.line_bytes * self._endpoint.batch_size

    def _is_ready(self) -> bool:
        waiting = self._table.waiting(self._name)
        is_full = waiting.requests >= self._endpoint.batch_size or waiting.bytes >= self._most_bytes
        # A clock that was set back would let it wait for ever.
        age = abs(time.time() - waiting.since)
        return is_full or (waiting.requests > 0 and age >= self._endpoint.batch_age)

    async def _send(self, batch: Batch) -> None:
        """Makes a batch at the endpoint, unless it did so for a process that was killed, or whose reply got lost."""
        if batch.posted:
            may_be_there = await self._find_again(batch)
            if may_be_there or abs(time.time() - batch.posted) < SHOW_SECONDS:
                return
            # It was not made.
            self._table.note(batch, posted=None)
        if not self._may_send:
            return
        requests = self._table.size(batch)
        if not requests:
            # A second batch has answered them all.
            self._end(batch, UNDONE)
            return
        file = batch.file or await self._api.upload(batch.id, self._table.lines(batch), self._folder)
        self._table.note(batch, file=file, posted=time.time(), requests=requests)
        try:
            job = await self._api.create(batch.id, file, self._table.lines(batch), self._folder)
        except Exception as error:
            if is_free(error):
                # It made none.
                self._table.note(batch, posted=None)
            if isinstance(error, Throttled) and len(self._table.open_batches(self._name)) > 1:
                self._hold(str(error))
                return
            raise
        self._table.note(batch, remote=job.remote)

    async def _find_again(self, batch: Batch) -> bool:
        """Finds a batch that may have been made; returns whether it was, or whether that will turn out."""
        try:
            found = await self._api.find(batch)
        except Missing:
            # An endpoint that lists none leaves nothing but to make it.
            return False
        for job in found:
            if job.is_certain:
                _log.info("%s: found batch %s again", self._where, job.remote)
                self._table.note(batch, remote=job.remote)
                break
        return bool(found)

    async def _look(self, batch: Batch) -> None:
        shortest, longest = POLL_SECONDS
        age = abs(time.time() - batch.created)
        self._due[batch.id] = time.monotonic() + min(longest, max(shortest, POLL_SHARE * age))
        try:
            job = await self._api.batch(batch.remote)
            for file in job.files if job.is_over else ():
                await self._take_in(batch, file)
        except Missing:
            self._misses[batch.id] = self._misses.get(batch.id, 0) + 1
            if self._misses[batch.id] >= MISSES:
                _log.warning("%s: batch %s is lost: its requests are sent again", self._where, batch.remote)
                self._end(batch, LOST)
            return
        self._misses.pop(batch.id, None)
        if not job.is_over:
            return
        if job.status == "failed" and not job.files:
            self._undone(batch, job)
            return
        self._failures, self._held_until = 0, 0.0
        self._end(batch, ENDED if job.status == "completed" else UNDONE)
        for file in filter(None, (batch.file, *job.files)):
            await self._tidy(self._api.delete(file))

    async def _tidy(self, call: Awaitable[object]) -> None:
        """Makes a call that the run does not depend on."""
        try:
            await call
        except (RetryableFault, EndpointRefuses, TimeoutError, Missing) as fault:
            _log.info("%s: %s", self._where, fault)

    def _undone(self, batch: Batch, job: Job) -> None:
        """Puts back the requests of a batch that the endpoint did not begin with."""
        self._end(batch, UNDONE)
        if _FULL.search(job.error):
            self._hold(job.error)
            return
        self._failures += 1
        if self._failures >= FAILURES:
            raise EndpointRefuses(f"{self._where} refuses batches ({job.error or 'it does not say why'})")

    def _hold(self, reason: str) -> None:
        _log.info("%s has no room for another batch: %s", self._where, reason)
        self._held_until = time.monotonic() + HOLD_SECONDS

    def _end(self, batch: Batch, outcome: str) -> None:
        self._table.end(batch, outcome)
        self._due.pop(batch.id, None)
        self._misses.pop(batch.id, None)

    async def _take_in(self, batch: Batch, file: str) -> None:
        lines: list[Line] = []
        async for told in self._api.lines(file):
            if line := line_of(told, self._endpoint.model):
                lines.append(line)
            if len(lines) == _AT_ONCE:
                self._table.take_in(batch, self._endpoint, lines)
                lines = []
        self._table.take_in(batch, self._endpoint, lines)


class BatchSenders:
    """The senders of all endpoints that are asked in batches."""

    def __init__(self, senders: Sequence[BatchSender]) -> None:
        self._senders = senders
        self._running: asyncio.Task[None] | None = None

    @property
    def statuses(self) -> list[EndpointStatus]:
        return [sender.status for sender in self._senders]

    async def run(self) -> None:
        self._running = asyncio.current_task()
        async with asyncio.TaskGroup() as group:
            for sender in self._senders:
                group.create_task(sender.run())

    async def settle(self) -> None:
        """Sends nothing more, and takes in what the endpoints still work on."""
        if self._running:
            self._running.cancel()
            await asyncio.wait([self._running])
        for sender in self._senders:
            await sender.settle()


@asynccontextmanager
async def open_senders(models: Models, spending: Spending, folder: Path) -> AsyncIterator[BatchSenders]:
    """`folder` has room for the file of a batch. Raises Failure for a missing key."""
    senders: list[BatchSender] = []
    async with AsyncExitStack() as connections:
        for name, endpoint in models.used.items():
            if not endpoint.batch:
                continue
            dialect = dialect_of(endpoint.dialect, endpoint.base_url, endpoint.model)
            form, table = BATCH_FORMS[dialect.batches], BatchTable(spending)
            connection = OpenAIConnection(name, endpoint, key_of(endpoint, name), dialect, form)
            connections.push_async_callback(connection.close)
            files = dialect.batches == "files"
            api = FileBatches(connection, form) if files else MessageBatches(connection, form, table)
            senders.append(BatchSender(name, endpoint, api, table, folder))
        yield BatchSenders(senders)
