"""A stage written directly on aiokafka: the difference to ours is what FastStream and our runtime cost.

It gives the guarantees of a stage and nothing else: a lane per key, ids that follow from the cause, repeated ids
dropped, outputs acknowledged before an explicit commit at the contiguous watermark, pausing while it polls, draining
on revoke. It uses the runtime's lanes, watermark and record format, since those are part of the guarantees. It has no
retries, dead letters, cancelled runs, metrics, traces or readiness. A second adapter under our own stage would have
been a kinder comparison, but would have hidden what the stage costs.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition

from soliloquy.runtime.events import Event, caused_events, checked, message_of
from soliloquy.runtime.handling import Service
from soliloquy.runtime.lanes import Lanes
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.connection import Names, client_options
from soliloquy.runtime.transports.kafka.records import delivery_of, headers_of
from soliloquy.runtime.transports.port import Delivery, Partition, Result, Watermark

POLL_MILLISECONDS = 1000
POLL_RECORDS = 256
REMEMBERED_IDS = 10_000


class BareClient:
    """Publishes events, and makes stages that read them."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings

    async def __aenter__(self) -> Self:
        self._producer = AIOKafkaProducer(
            **client_options(self._settings), enable_idempotence=True, acks="all", compression_type="lz4"
        )
        await self._producer.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._producer.stop()

    async def publish(self, events: Sequence[Event]) -> None:
        sent = [
            await self._producer.send(
                self._settings.prefix + event.topic,
                event.payload,
                key=event.key.encode(),
                headers=headers_of(event),
            )
            for event in events
        ]
        await asyncio.gather(*sent)

    def stage(self, service: Service) -> "BareStage":
        return BareStage(service, self, self._settings)


class BareStage(ConsumerRebalanceListener):
    def __init__(self, service: Service, client: BareClient, settings: KafkaSettings) -> None:
        self._service = service
        self._handlers = dict(zip(service.topics, service.handlers.values(), strict=True))
        self._client = client
        self._names = Names(settings.prefix)
        self._consumer = AIOKafkaConsumer(
            **client_options(settings),
            group_id=settings.prefix + service.name,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        self._watermarks: dict[Partition, Watermark] = {}
        self._paused: set[Partition] = set()
        self._completed: OrderedDict[str, None] = OrderedDict()
        self._outbox: list[Result] = []
        self._outbox_filled = asyncio.Event()
        self._commit_turn = asyncio.Lock()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._lanes = Lanes(self._service.max_in_flight, self._run, tasks)
            self._consumer.subscribe([self._names.prefix + topic for topic in self._service.topics], listener=self)
            async with self._consumer:
                loops = [tasks.create_task(loop()) for loop in (self._poll, self._commit_always)]
                await self._stopping.wait()
                loops[0].cancel()
                await self._settle(list(self._watermarks))
                loops[1].cancel()

    def stop(self, _grace: float) -> None:
        self._stopping.set()

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        for there in assigned:
            self._watermarks[self._names.from_kafka(*there)] = Watermark(await self._consumer.position(there) - 1)

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        await self._settle([here for there in revoked if (here := self._names.from_kafka(*there)) in self._watermarks])

    async def _settle(self, partitions: Collection[Partition]) -> None:
        if running := self._lanes.retire(partitions):
            await asyncio.wait(running)
        self._lanes.cancel(partitions)
        await self._commit()
        for partition in partitions:
            del self._watermarks[partition]
        self._paused.difference_update(partitions)

    async def _poll(self) -> None:
        while True:
            page = await self._consumer.getmany(timeout_ms=POLL_MILLISECONDS, max_records=POLL_RECORDS)
            for there, records in page.items():
                partition = self._names.from_kafka(*there)
                for record in records:
                    self._watermarks[partition].take(record.offset)
                    self._lanes.add(delivery_of(record, partition))
            self._throttle()

    def _throttle(self) -> None:
        limit = self._service.max_in_flight
        full = self._lanes.ready + len(self._outbox) >= 2 * limit
        enough = {held for held in self._watermarks if full or self._lanes.load[held] >= limit}
        self._consumer.pause(*map(self._names.in_kafka, enough - self._paused))
        self._consumer.resume(*map(self._names.in_kafka, self._paused - enough))
        self._paused = enough

    async def _run(self, delivery: Delivery) -> None:
        event = delivery.event
        outputs: list[Event] = []
        if event.id not in self._completed:
            outcome = await self._handlers[event.topic](message_of(event))
            outputs = caused_events(event, outcome, source=self._service.name, time=event.time)
            for output in outputs:
                checked(output)
            self._remember(event.id)
        self._outbox.append(Result(delivery=delivery, outputs=outputs))
        self._outbox_filled.set()

    def _remember(self, event_id: str) -> None:
        self._completed[event_id] = None
        if len(self._completed) > REMEMBERED_IDS:
            self._completed.popitem(last=False)

    async def _commit_always(self) -> None:
        while True:
            await self._outbox_filled.wait()
            self._outbox_filled.clear()
            await self._commit()

    async def _commit(self) -> None:
        async with self._commit_turn:
            while self._outbox:
                results, self._outbox = self._outbox, []
                await self._client.publish([output for result in results for output in result.outputs])
                for result in results:
                    self._watermarks[result.delivery.partition].finish(result.delivery.offset)
                moved = {result.delivery.partition for result in results}
                await self._consumer.commit(
                    {self._names.in_kafka(partition): self._watermarks[partition].position + 1 for partition in moved}
                )
                self._throttle()
