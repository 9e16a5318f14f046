"""Writes each audited call to its topic without holding it up, and keeps the latest calls of all gateways."""

import asyncio
import logging
from collections import deque
from contextlib import aclosing, suppress
from functools import partial
from itertools import islice

from soliloquy.runtime.events import Event, first_event
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.metrics import counter
from soliloquy.runtime.reading import messages
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.answering import PAUSE_SECONDS, retry_until_answered
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.events_pb2 import CallAudited
from soliloquy.v1.gateway_pb2 import ListAuditRequest, ListAuditResponse
from soliloquy_services.gateway.access.tenants import sees
from soliloquy_services.gateway.requests import page

DROPPED = counter("soliloquy_gateway_audit_dropped_total")
TOPIC = TOPIC_OF[CallAudited].name
# The calls that wait while the topic cannot be written; further ones are in the log alone.
MOST_WAITING = 10_000
# The calls that are shown; the topic has all.
MOST_KEPT = 2_000
_BATCH = 500
# For the last calls when the gateway stops.
_GRACE_SECONDS = 2.0

_log = logging.getLogger(__name__)


class Audit:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._waiting: deque[Event] = deque()
        self._woken = asyncio.Event()
        self._dropped = 0
        # By the ids of their events, in the order in which they were read.
        self._kept: dict[str, CallAudited] = {}

    def add(self, call: CallAudited) -> None:
        """Returns at once, whatever the transport does."""
        if len(self._waiting) >= MOST_WAITING:
            self._drop(1)
            return
        self._waiting.append(first_event(call, source="gateway", time=call.at))
        self._woken.set()

    def listed(self, request: ListAuditRequest, tenant: str) -> ListAuditResponse:
        seen = [(call, event) for event, call in self._kept.items() if sees(tenant, call.tenant)]
        rows, token = page(seen, lambda row: (row[0].at, row[1]), request.page_size, request.page_token)
        return ListAuditResponse(calls=[call for call, _ in rows], next_page_token=token)

    async def write_always(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            await self._write()

    async def finish(self) -> None:
        """Writes what is left, if the transport answers soon."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await self._write()
        self._drop(len(self._waiting))
        self._tell_dropped()

    async def follow_always(self) -> None:
        while True:
            try:
                ends = await self._transport.ends(TOPIC)
                await self._read_latest(ends)
                async with aclosing(messages(self._transport.follow(TOPIC, starts=ends))) as calls:
                    async for delivery, call in calls:
                        self._keep(delivery.event.id, call)
            except Failure as error:
                _log.warning("%s cannot be read (%s): the page of audited calls may lack some", TOPIC, error)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _write(self) -> None:
        while batch := [*islice(self._waiting, _BATCH)]:
            try:
                await retry_until_answered(partial(self._transport.publish, batch))
            except Failure as error:
                _log.error("a batch of audited calls was refused: %s", error)
                self._drop(len(batch))
            for _ in batch:
                self._waiting.popleft()
        self._tell_dropped()

    async def _read_latest(self, ends: dict[int, int]) -> None:
        """Reads back as far as it takes: the offsets of some logs count the events of all topics."""
        span = MOST_KEPT
        while True:
            starts = {number: max(0, end - span) for number, end in ends.items()}
            found = {one.event.id: call async for one, call in messages(self._transport.read(TOPIC, starts=starts))}
            if len(found) >= MOST_KEPT or not any(starts.values()):
                break
            span *= 10
        for event, call in sorted(found.items(), key=lambda each: _at(each[1])):
            self._keep(event, call)

    def _keep(self, event: str, call: object) -> None:
        assert isinstance(call, CallAudited)
        self._kept[event] = call
        if len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]

    def _drop(self, calls: int) -> None:
        if calls and not self._dropped:
            _log.error("%s cannot be written: audited calls are in the log alone until it can", TOPIC)
        DROPPED.inc(calls)
        self._dropped += calls

    def _tell_dropped(self) -> None:
        if self._dropped:
            _log.error("%d audited calls were not written to %s: they are in the log alone", self._dropped, TOPIC)
            self._dropped = 0


def _at(call: object) -> float:
    assert isinstance(call, CallAudited)
    return call.at
