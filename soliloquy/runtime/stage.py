"""A stage runs the handlers of one service between the topics it reads and the topics it writes."""

import asyncio
import contextlib
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from google.protobuf.message import Message

from soliloquy.runtime import metrics
from soliloquy.runtime.cancelled import CancelledRuns
from soliloquy.runtime.events import Event, first_event
from soliloquy.runtime.handling import PERMANENT_ERRORS, Handling, NotYet, Service
from soliloquy.runtime.lanes import Hold, Lanes
from soliloquy.runtime.logs import EVENT, SERVICE
from soliloquy.runtime.reading import messages
from soliloquy.runtime.retry import CannotServe, dead, failed, parked
from soliloquy.runtime.topics import DLQ, RETRY, TOPIC_OF, is_retry, origin
from soliloquy.runtime.transports.answering import retry_until_answered
from soliloquy.runtime.transports.port import Delivery, Lag, Partition, Result, Transport, Unanswered
from soliloquy.v1.events_pb2 import RunCancelled

Take = Callable[[Any], None]
# A message, who takes those of its topic, and the offsets from which to follow it.
Followed = tuple[type[Message], Take, Mapping[int, int]]

POLL_SECONDS = 1.0
SAMPLE_SECONDS = 5.0
# How long handlers may keep running when their partition moves to another member.
REVOKE_SECONDS = 5.0
REMEMBERED_IDS = 10_000
# A poll loop that is silent for this long is stuck.
STUCK_SECONDS = 10 * POLL_SECONDS

_log = logging.getLogger(__name__)


class Stage:
    def __init__(self, service: Service, transport: Transport) -> None:
        self._service = service
        self._transport = transport
        self._metrics = metrics.topic_metrics(service.name, service.topics)
        self._cancelled = CancelledRuns()
        self._handling = Handling(service, self._metrics, self._cancelled)
        topics = [topic + suffix for topic in service.topics for suffix in ("", RETRY)]
        self._consumer = transport.consumer(service.name, topics, self)
        # Counts the parked events of each key, per partition held. A partition and its retry partition share a counter.
        self._parked: dict[Partition, Counter[str]] = {}
        self._paused: set[Partition] = set()
        self._completed: OrderedDict[str, None] = OrderedDict()
        self._recalled: OrderedDict[str, None] = OrderedDict()
        self._outbox: list[Result] = []
        self._outbox_filled = asyncio.Event()
        self._committing = 0
        self._commit_turn = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._grace = 0.0
        self._polled_at = 0.0
        self._sampled: set[tuple[str, str, int]] = set()

    @property
    def fault(self) -> str:
        """Why the stage does not serve; empty while it does."""
        name = self._service.name
        if not self._polled_at:
            return f"{name} has not begun to read"
        if self._stopping.is_set():
            return f"{name} is stopping"
        if (seconds := time.monotonic() - self._polled_at) > STUCK_SECONDS:
            return f"{name} has done nothing for {seconds:.0f} s: the machine is too busy, or it hangs"
        return self._consumer.fault

    async def run(self) -> None:
        """Serves until stopped. Raises when the transport fails or a handler raises CannotServe."""
        SERVICE.set(self._service.name)
        if description := self._service.description:
            described = first_event(description, source=self._service.name, time=time.time())
            await self._transport.publish([described])
        try:
            async with asyncio.TaskGroup() as tasks:
                self._lanes = Lanes(self._service.max_in_flight, self._run, tasks)
                metrics.LANES.labels(self._service.name).set(self._service.max_in_flight)
                metrics.LANES_IN_USE.labels(self._service.name).set_function(lambda: self._lanes.in_use)
                follows: dict[type[Message], Take] = {RunCancelled: self._cancelled.add, **self._service.follows}
                followed = [await retry_until_answered(partial(self._read, *each)) for each in follows.items()]
                async with self._consumer:
                    await self._serve(tasks, followed)
        except ExceptionGroup as faults:
            raise faults.exceptions[0] from faults

    async def _read(self, message: type[Message], take: Take) -> Followed:
        """Takes what a topic holds, and returns where to follow it from."""
        starts: dict[int, int] = {}
        async with aclosing(messages(self._transport.read(TOPIC_OF[message].name))) as held:
            async for delivery, each in held:
                take(each)
                starts[delivery.partition.number] = delivery.offset + 1
        return message, take, starts

    async def _follow(self, message: type[Message], take: Take, starts: Mapping[int, int]) -> None:
        async for _, each in messages(self._transport.follow(TOPIC_OF[message].name, starts)):
            take(each)

    async def _serve(self, tasks: asyncio.TaskGroup, followed: Sequence[Followed]) -> None:
        always = (self._poll(), self._commit_always(), self._sample(), *[self._follow(*each) for each in followed])
        loops = [tasks.create_task(loop) for loop in always]
        await self._stopping.wait()
        loops[0].cancel()
        await self._settle(dict(self._parked), self._grace)
        for loop in loops[1:]:
            loop.cancel()

    def stop(self, grace: float) -> None:
        """Takes no more events. Running handlers get `grace` seconds; what remains is left to other members."""
        self._grace = grace
        self._stopping.set()

    async def assigned(self, partitions: Collection[Partition]) -> None:
        numbers = {partition.number for partition in partitions}
        for message, tell in self._service.tables.items():
            rows = messages(self._transport.read(TOPIC_OF[message].name, numbers))
            tell([latest async for _, latest in rows])
        for partition in partitions:
            if is_retry(partition.topic):
                keys = await self._consumer.unfinished_keys(partition)
                self._parked[partition] = self._parked[Partition(origin(partition.topic), partition.number)] = keys
        for partition in partitions:
            # While topics grow, another member may hold the retry partition.
            self._parked.setdefault(partition, Counter())

    async def revoked(self, partitions: Collection[Partition]) -> None:
        held = {partition: self._parked[partition] for partition in partitions}
        await self._settle(held, REVOKE_SECONDS)
        self._forget(self._still_held(held))

    def lost(self, partitions: Collection[Partition]) -> None:
        self._lanes.cancel(partitions)
        self._forget(partitions)

    def recalled(self, event_id: str) -> None:
        _remember(self._recalled, event_id)

    def _forget(self, partitions: Collection[Partition]) -> None:
        for partition in partitions:
            # A Kafka consumer may find out that it has lost what it has just given up.
            self._parked.pop(partition, None)
        self._paused.difference_update(partitions)

    async def _settle(self, held: Mapping[Partition, Counter[str]], seconds: float) -> None:
        """Waits for running events, cancels what remains, and commits."""
        if running := self._lanes.retire(held):
            await asyncio.wait(running, timeout=seconds)
        self._lanes.cancel(self._still_held(held))
        await self._commit()

    def _still_held(self, held: Mapping[Partition, Counter[str]]) -> list[Partition]:
        """Returns the partitions that were not lost in the meantime, and perhaps gained again."""
        return [partition for partition, keys in held.items() if self._parked.get(partition) is keys]

    async def _poll(self) -> None:
        while True:
            for delivery in await self._consumer.poll(self._service.max_in_flight, POLL_SECONDS):
                self._metrics[origin(delivery.partition.topic)].received.inc()
                self._lanes.add(delivery)
            self._polled_at = time.monotonic()
            self._throttle()

    def _throttle(self) -> None:
        """Pauses partitions with enough queued events and resumes the rest; polling goes on either way."""
        limit = self._service.max_in_flight
        most = self._service.max_fetched or limit
        full = self._lanes.ready + len(self._outbox) + self._committing >= 2 * limit
        enough = {partition for partition in self._parked if full or self._lanes.load[partition] >= most}
        if more := enough - self._paused:
            self._consumer.pause(more)
        if fewer := self._paused - enough:
            self._consumer.resume(fewer)
        self._paused = enough

    async def _commit_always(self) -> None:
        while True:
            await self._outbox_filled.wait()
            self._outbox_filled.clear()
            await self._commit()

    async def _commit(self) -> None:
        async with self._commit_turn:
            while self._outbox:
                results, self._outbox = self._outbox, []
                self._committing = len(results)
                for result in await self._consumer.commit(results):
                    self._metrics[origin(result.delivery.partition.topic)].fenced.inc()
                    # The next holder of the partition repeats the event; it may be this stage again.
                    self._completed.pop(result.delivery.event.id, None)
                self._committing = 0
                self._throttle()

    async def _sample(self) -> None:
        while True:
            # The consumer reports a transport that stays silent as its fault.
            with contextlib.suppress(Unanswered):
                self._export_lag(await self._consumer.lag())
                counts = await self._transport.dead_letters()
                for topic, handles in self._metrics.items():
                    handles.dead_letters.set(counts.get(topic + DLQ, 0))
            await asyncio.sleep(SAMPLE_SECONDS)

    def _export_lag(self, lags: Sequence[Lag]) -> None:
        held = set()
        for lag in lags:
            labels = (self._service.name, lag.partition.topic, lag.partition.number)
            metrics.LAG.labels(*labels).set(lag.events)
            metrics.OLDEST.labels(*labels).set(lag.oldest_seconds)
            held.add(labels)
        # Other members report the partitions that they hold.
        for labels in self._sampled - held:
            metrics.LAG.remove(*labels)
            metrics.OLDEST.remove(*labels)
        self._sampled = held

    async def _run(self, delivery: Delivery) -> Hold | None:
        event = delivery.event
        EVENT.set(event)
        if is_retry(event.topic):
            # A later time was written by somebody else, or before the clock was set back.
            if 0 < (seconds := event.not_before - time.time()) <= self._service.retry.backoff_cap:
                return Hold(delivery=delivery, seconds=seconds)
        # Bury foreign records at once: republished, one might look like a valid event.
        elif not event.flaw and self._parked[delivery.partition][event.key]:
            self._forward(delivery, parked(event))
            return None
        if self._is_done(event):
            self._metrics[origin(event.topic)].duplicates.inc()
            self._finish(delivery, [])
            return None
        try:
            outputs = await self._handling.outputs(delivery)
        except NotYet as waiting:
            return Hold(delivery=delivery, until=waiting.until)
        except PERMANENT_ERRORS as error:
            self._bury(delivery, dead(event, error), error)
        except CannotServe:
            raise
        except Exception as error:
            return self._park(delivery, error)
        else:
            _remember(self._completed, event.id)
            self._metrics[origin(event.topic)].succeeded.inc()
            self._finish(delivery, outputs)
        return None

    def _park(self, delivery: Delivery, error: Exception) -> Hold | None:
        now = time.time()
        event = failed(delivery.event, error, self._service.retry, now)
        if not is_retry(event.topic):
            self._bury(delivery, event, error)
            return None
        self._metrics[origin(event.topic)].parked.inc()
        _log.warning("an event failed and is tried again later", extra=_failure(event, error))
        behind = self._parked[delivery.partition][event.key]
        if behind > 1 and is_retry(delivery.partition.topic):
            # Republished, it would move behind the events that wait for it.
            return Hold(delivery=replace(delivery, event=event), seconds=event.not_before - now)
        self._forward(delivery, event)
        return None

    def _forward(self, delivery: Delivery, event: Event) -> None:
        self._parked[delivery.partition][event.key] += 1
        self._finish(delivery, [event])

    def _bury(self, delivery: Delivery, letter: Event, error: Exception) -> None:
        self._metrics[origin(letter.topic)].dead.inc()
        _log.error("an event is given up: `soliloquy dlq show` says why", extra=_failure(letter, error))
        self._finish(delivery, [letter])

    def _finish(self, delivery: Delivery, outputs: Sequence[Event]) -> None:
        if is_retry(delivery.partition.topic):
            waiting = self._parked[delivery.partition]
            waiting[delivery.event.key] -= 1
            # Fewer than none if it was parked before the topics grew, in another partition.
            if waiting[delivery.event.key] <= 0:
                del waiting[delivery.event.key]
        self._outbox.append(Result(delivery=delivery, outputs=outputs))
        self._outbox_filled.set()

    def _is_done(self, event: Event) -> bool:
        """Whether the event was already completed; a parked or replayed one was not."""
        if event.id in self._completed:
            return True
        return event.id in self._recalled and not is_retry(event.topic) and not event.replayed


def _remember(ids: OrderedDict[str, None], event_id: str) -> None:
    ids[event_id] = None
    if len(ids) > REMEMBERED_IDS:
        ids.popitem(last=False)


def _failure(event: Event, error: Exception) -> dict[str, object]:
    """Returns the log fields of a failure; the error message stays with the event."""
    fields = {"topic": origin(event.topic), "event": event.id, "attempt": event.attempt, "error": type(error).__name__}
    return {"fields": fields}
