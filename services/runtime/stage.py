"""A stage: one service's handlers between the topics they read and the topics they write."""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import replace

from services.runtime import metrics
from services.runtime.events import Event
from services.runtime.handling import HOPELESS, Handling, Service
from services.runtime.lanes import Hold, Lanes
from services.runtime.retry import dead, failed, parked
from services.runtime.topics import DLQ, RETRY, is_retry, origin
from services.runtime.transports.port import Delivery, Partition, Result, Transport

POLL_SECONDS = 1.0
SAMPLE_SECONDS = 5.0
# How long running handlers may take when their partition goes to another member.
REVOKE_SECONDS = 5.0
REMEMBERED_IDS = 10_000


class Stage:
    def __init__(self, service: Service, transport: Transport) -> None:
        self._service = service
        self._transport = transport
        self._metrics = metrics.topic_metrics(service.name, service.topics)
        self._handling = Handling(service, self._metrics)
        topics = [topic + suffix for topic in service.topics for suffix in ("", RETRY)]
        self._consumer = transport.consumer(service.name, topics, self)
        # Per partition held, the events of each key in its retry partition; both partitions share one counter.
        self._parked: dict[Partition, Counter[str]] = {}
        self._paused: set[Partition] = set()
        self._completed: OrderedDict[str, None] = OrderedDict()
        self._outbox: list[Result] = []
        self._outbox_filled = asyncio.Event()
        self._committing = 0
        self._commit_turn = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._grace = 0.0

    async def run(self) -> None:
        """Serve until stopped; raises what makes the transport unusable."""
        try:
            async with self._consumer, asyncio.TaskGroup() as tasks:
                self._lanes = Lanes(self._service.max_in_flight, self._run, tasks)
                metrics.LANES.labels(self._service.name).set_function(lambda: self._lanes.in_use)
                loops = [tasks.create_task(loop()) for loop in (self._poll, self._commit_always, self._sample)]
                await self._stopping.wait()
                loops[0].cancel()
                await self._settle(list(self._parked), self._grace)
                for loop in loops[1:]:
                    loop.cancel()
        except ExceptionGroup as faults:
            raise faults.exceptions[0] from faults

    def stop(self, grace: float) -> None:
        """Take nothing more; what runs may finish for `grace` seconds, then its events are left to others."""
        self._grace = grace
        self._stopping.set()

    async def assigned(self, partitions: Collection[Partition]) -> None:
        for partition in partitions:
            if is_retry(partition.topic):
                keys = await self._consumer.unfinished_keys(partition)
                self._parked[partition] = self._parked[Partition(origin(partition.topic), partition.number)] = keys

    async def revoked(self, partitions: Collection[Partition]) -> None:
        await self._settle(partitions, REVOKE_SECONDS)
        self._forget(partitions)

    def lost(self, partitions: Collection[Partition]) -> None:
        self._lanes.cancel(partitions)
        self._forget(partitions)

    def _forget(self, partitions: Collection[Partition]) -> None:
        for partition in partitions:
            del self._parked[partition]
        self._paused.difference_update(partitions)

    async def _settle(self, partitions: Collection[Partition], seconds: float) -> None:
        """Let what runs end within so many seconds, and commit it."""
        if running := self._lanes.retire(partitions):
            await asyncio.wait(running, timeout=seconds)
        self._lanes.cancel(partitions)
        await self._commit()

    async def _poll(self) -> None:
        while True:
            for delivery in await self._consumer.poll(self._service.max_in_flight, POLL_SECONDS):
                self._metrics[origin(delivery.partition.topic)].received.inc()
                self._lanes.add(delivery)
            self._throttle()

    def _throttle(self) -> None:
        """Pause what has enough on its hands and resume the rest; polling goes on either way."""
        limit = self._service.max_in_flight
        full = self._lanes.ready + len(self._outbox) + self._committing >= 2 * limit
        enough = {partition for partition in self._parked if full or self._lanes.load[partition] >= limit}
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
                    # Whoever holds the partition does it again; so may this stage, if it gets it back.
                    self._completed.pop(result.delivery.event.id, None)
                self._committing = 0
                self._throttle()

    async def _sample(self) -> None:
        name = self._service.name
        while True:
            for backlog in await self._consumer.backlog():
                metrics.LAG.labels(name, backlog.topic).set(backlog.events)
                metrics.OLDEST.labels(name, backlog.topic).set(backlog.oldest_seconds)
            counts = await self._transport.dead_letters()
            for topic, handles in self._metrics.items():
                handles.dead_letters.set(counts.get(topic + DLQ, 0))
            await asyncio.sleep(SAMPLE_SECONDS)

    async def _run(self, delivery: Delivery) -> Hold | None:
        event = delivery.event
        if is_retry(event.topic):
            if (seconds := event.not_before - time.time()) > 0:
                return Hold(delivery=delivery, seconds=seconds)
        elif self._parked[delivery.partition][event.key]:
            self._forward(delivery, parked(event))
            return None
        if event.id in self._completed:
            self._metrics[origin(event.topic)].duplicates.inc()
            self._finish(delivery, [])
            return None
        try:
            outputs = await self._handling.outputs(event)
        except HOPELESS as error:
            self._bury(delivery, dead(event, error))
        except Exception as error:
            return self._park(delivery, error)
        else:
            self._remember(event.id)
            self._metrics[origin(event.topic)].succeeded.inc()
            self._finish(delivery, outputs)
        return None

    def _park(self, delivery: Delivery, error: Exception) -> Hold | None:
        now = time.time()
        event = failed(delivery.event, error, self._service.retry, now)
        if not is_retry(event.topic):
            self._bury(delivery, event)
            return None
        self._metrics[origin(event.topic)].parked.inc()
        behind = self._parked[delivery.partition][event.key]
        if behind > 1 and is_retry(delivery.partition.topic):
            # Published again it would come after the events that wait behind it.
            return Hold(delivery=replace(delivery, event=event), seconds=event.not_before - now)
        self._forward(delivery, event)
        return None

    def _forward(self, delivery: Delivery, event: Event) -> None:
        self._parked[delivery.partition][event.key] += 1
        self._finish(delivery, [event])

    def _bury(self, delivery: Delivery, letter: Event) -> None:
        self._metrics[origin(letter.topic)].dead.inc()
        self._finish(delivery, [letter])

    def _finish(self, delivery: Delivery, outputs: Sequence[Event]) -> None:
        if is_retry(delivery.partition.topic):
            waiting = self._parked[delivery.partition]
            waiting[delivery.event.key] -= 1
            if not waiting[delivery.event.key]:
                del waiting[delivery.event.key]
        self._outbox.append(Result(delivery=delivery, outputs=outputs))
        self._outbox_filled.set()

    def _remember(self, event_id: str) -> None:
        self._completed[event_id] = None
        if len(self._completed) > REMEMBERED_IDS:
            self._completed.popitem(last=False)
