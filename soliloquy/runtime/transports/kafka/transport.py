"""Kafka as a transport."""

import asyncio
import contextlib
import functools
import itertools
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError, OutOfOrderSequenceNumber, UnknownTopicOrPartitionError
from aiokafka.partitioner import murmur2

from soliloquy.runtime.events import Event, checked, partition_key
from soliloquy.runtime.retry import replayed
from soliloquy.runtime.topics import DLQ, TOPICS, origin
from soliloquy.runtime.transports.answering import PAUSE_SECONDS
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.kafka.connection import METADATA_MS, Names, client_options, connecting, described
from soliloquy.runtime.transports.kafka.consumer import KafkaConsumer
from soliloquy.runtime.transports.kafka.positions import BatchMetrics, position_of, usable
from soliloquy.runtime.transports.kafka.reader import Reader
from soliloquy.runtime.transports.kafka.records import headers_of
from soliloquy.runtime.transports.port import Backlog, Delivery, Listener, Partition, Unanswered, Watermark

DEAD_LETTER_TOPICS = [topic.name + DLQ for topic in TOPICS.values() if topic.is_handled]
# A group whose position in a dead-letter topic marks the replayed letters: Kafka cannot delete a record.
REPLAYED = "soliloquy-replayed"
_HASHES = 65_536


class _Unpublished(Exception):
    """Some events of a batch are not known to be durable."""

    def __init__(self, faults: Mapping[str, BaseException]) -> None:
        super().__init__(next(map(str, faults.values())))
        # By what chooses the events' partitions.
        self.faults = faults


class KafkaTransport:
    """Shared by all stages of a process."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._metrics = BatchMetrics()
        self._reader = Reader(settings)

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            async with connecting(self._settings):
                await stack.enter_async_context(self._reader)
                await self._start_producer(stack)
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    @property
    def fault(self) -> str:
        return self._reader.topics.fault

    @property
    def installation(self) -> str:
        prefix = f" with the prefix {self._settings.prefix!r}" if self._settings.prefix else ""
        return f"Kafka {self._reader.cluster}{prefix}" if self._reader.cluster else ""

    async def publish(self, events: Sequence[Event]) -> None:
        for event in events:
            checked(event)
            # Fails for a time that no header can say, while nothing is sent yet.
            headers_of(event)
        await self._publish(events)

    def consumer(self, group: str, topics: Sequence[str], listener: Listener) -> KafkaConsumer:
        return KafkaConsumer(
            self._reader,
            self._publish,
            self._metrics,
            self._settings,
            group=group,
            topics=topics,
            listener=listener,
        )

    async def read(
        self, topic: str, numbers: Collection[int] | None = None, starts: Mapping[int, int] | None = None
    ) -> AsyncGenerator[Delivery, None]:
        partitions = [
            partition
            for partition in await self._reader.partitions([topic])
            if numbers is None or partition.number in numbers
        ]
        marks = await self._reader.watermarks(REPLAYED, partitions) if topic.endswith(DLQ) else {}
        begins, ends = await self._reader.bounds(partitions)
        read = {place: usable(marks.get(place), begins[place], ends[place]) for place in partitions}
        async with contextlib.aclosing(self._reader.deliveries(_chosen(begins, starts))) as deliveries:
            async for delivery in deliveries:
                if not read[delivery.partition].is_finished(delivery.offset):
                    yield delivery

    async def follow(self, topic: str, starts: Mapping[int, int] | None = None) -> AsyncGenerator[Delivery, None]:
        chosen: dict[Partition, int] = {}
        generations = self._reader.topics.generations
        generation = generations[topic]
        while True:
            try:
                partitions = await self._reader.partitions([topic])
                if generations[topic] != generation:
                    # The next topic of this name is read from its beginning.
                    starts, generation, chosen = None, generations[topic], {}
                begins, ends = await self._reader.bounds([each for each in partitions if each not in chosen])
                for place, start in _chosen(begins, starts).items():
                    # A start beyond the end belongs to an earlier topic of this name.
                    chosen[place] = start if start <= ends[place] else begins[place]
                if not chosen:
                    raise Unanswered(f"there is no topic {topic}")
                async with contextlib.aclosing(self._reader.endless_deliveries(chosen)) as deliveries:
                    async for delivery in deliveries:
                        yield delivery
                        chosen[delivery.partition] = delivery.offset + 1
            except Unanswered:
                await asyncio.sleep(PAUSE_SECONDS)

    async def ends(self, topic: str) -> dict[int, int]:
        ends = await self._reader.ends(await self._reader.partitions([topic]))
        return {partition.number: end for partition, end in ends.items()}

    async def identity(self, topic: str) -> str:
        if topic not in self._reader.topics.found:
            await self._reader.partitions([topic])
        if (found := self._reader.topics.found.get(topic)) is None:
            raise Unanswered(f"there is no topic {topic}")
        return found.id.hex() or self.installation

    async def backlog(self) -> list[Backlog]:
        return [
            backlog
            for group in await self._reader.groups()
            if group != REPLAYED
            for backlog in await self._backlog_of(group)
        ]

    async def dead_letters(self) -> Mapping[str, int]:
        begins, ends = await self._reader.bounds(await self._reader.partitions(DEAD_LETTER_TOPICS))
        filled = [partition for partition, end in ends.items() if begins[partition] < end]
        marks = await self._reader.watermarks(REPLAYED, filled)
        counts: defaultdict[str, int] = defaultdict(int)
        for partition in filled:
            mark = usable(marks.get(partition), begins[partition], ends[partition])
            counts[partition.topic] += mark.unfinished(ends[partition])
        return {topic: count for topic, count in counts.items() if count}

    async def replay(self, letters: Sequence[Delivery]) -> None:
        await self._publish([replayed(letter.event) for letter in letters])
        await self.discard(letters)

    async def discard(self, letters: Sequence[Delivery]) -> None:
        partitions = {letter.partition for letter in letters}
        marks = await self._reader.watermarks(REPLAYED, partitions)
        begins, ends = await self._reader.bounds(partitions)
        watermarks = {each: usable(marks.get(each), begins[each], ends[each]) for each in partitions}
        for letter in letters:
            watermarks[letter.partition].skip(letter.offset)
        await self._commit(REPLAYED, watermarks)

    async def _start_producer(self, stack: contextlib.AsyncExitStack) -> None:
        remade = self._reader.topics.generations.total()
        producer = AIOKafkaProducer(
            **client_options(self._settings),
            request_timeout_ms=int(1000 * self._settings.request_seconds),
            enable_idempotence=True,
            acks="all",
            compression_type="lz4",
            partitioner=_partition,
            # A topic may grow.
            metadata_max_age_ms=METADATA_MS,
        )
        stack.push_async_callback(producer.stop)
        await producer.start()
        self._producer, self._remade = producer, remade

    async def _publish(self, events: Sequence[Event]) -> None:
        """Publishes events of tables last: a table must not mention events that are not durable yet."""
        first: list[Event] = []
        tables: list[Event] = []
        for event in events:
            (tables if TOPICS[origin(event.topic)].keep == "latest" else first).append(event)
        await self._send(first)
        await self._send(tables)

    async def _send(self, events: Sequence[Event]) -> None:
        """Retries until the brokers accept all events. A failed event takes along all events of its key or run.

        Waits for lost topics. Raises KafkaUnavailable where retrying is no use.
        """
        while events:
            if self._reader.topics.lost.isdisjoint(event.topic for event in events):
                failed = await self._attempt(events)
                events = [event for event in events if partition_key(event.key) in failed]
            if events:
                await asyncio.sleep(PAUSE_SECONDS)

    async def _attempt(self, events: Sequence[Event]) -> Mapping[str, BaseException]:
        """Returns why events are not durable, by their keys."""
        try:
            # Only a topic that was there can be lost.
            await self._reader.partitions({event.topic for event in events})
            if self._remade != self._reader.topics.generations.total():
                # A cluster that lost its data may give the id of this producer to another one, and would take the
                # events of one for repeats of the other's.
                await self._start_producer(self._open)
        except (KafkaError, Unanswered) as error:
            return _of_all(events, error)
        # Concurrently, so that all events for one broker share a request.
        failures = await asyncio.gather(*[self._send_batch(*batch) for batch in _by_topic(events).items()])
        failed = {key: answer for failure in failures for key, answer in failure.items()}
        for answer in failed.values():
            if isinstance(answer, OutOfOrderSequenceNumber):
                # The cluster knows another producer by this id.
                self._remade = -1
                continue
            # aiokafka has looked for a missing topic for as long as a request may take, and calls that retriable.
            missing = isinstance(answer, UnknownTopicOrPartitionError) and self._never_was(answer)
            if missing or not (isinstance(answer, KafkaError) and answer.retriable):
                raise KafkaUnavailable(described(answer, self._settings)) from answer
        return failed

    def _never_was(self, missing: UnknownTopicOrPartitionError) -> bool:
        names = [str(name).removeprefix(self._settings.prefix) for name in missing.args]
        return any(name not in self._reader.topics.found for name in names)

    async def _send_batch(self, topic: str, batch: Sequence[Event]) -> Mapping[str, BaseException]:
        """Returns why events are not durable, by their keys."""
        name = self._settings.prefix + topic
        try:
            await self._metrics.count_published(name, batch, partial(self._produce, name, batch))
        except _Unpublished as unpublished:
            return unpublished.faults
        return {}

    async def _produce(self, topic: str, batch: Sequence[Event]) -> None:
        """Raises _Unpublished. aiokafka packs the events of a batch into as few requests as it takes."""
        try:
            # Once for all events: aiokafka would look for a missing topic again with each.
            await self._producer.partitions_for(topic)
        except UnknownTopicOrPartitionError as error:
            raise _Unpublished(_of_all(batch, UnknownTopicOrPartitionError(topic))) from error
        except KafkaError as error:
            raise _Unpublished(_of_all(batch, error)) from error
        sent: list[tuple[str, asyncio.Future[Any]]] = []
        faults: dict[str, BaseException] = {}
        for event in batch:
            key, whole = partition_key(event.key), event.key.encode()
            try:
                future = await self._producer.send(topic, event.payload, key=whole, headers=headers_of(event))
            except Exception as error:
                faults[key] = error
            else:
                sent.append((key, future))
        await asyncio.gather(*[future for _, future in sent], return_exceptions=True)
        faults |= {key: fault for key, future in sent if (fault := future.exception())}
        if faults:
            raise _Unpublished(faults)

    async def _backlog_of(self, group: str) -> list[Backlog]:
        committed = await self._reader.watermarks(group)
        topics = {partition.topic for partition in committed if origin(partition.topic) in TOPICS}
        begins, ends = await self._reader.bounds(
            [partition for partition in await self._reader.partitions(topics) if partition in committed]
        )
        watermarks = {each: usable(committed[each], begins[each], ends[each]) for each in ends}
        left = {partition: known.unfinished(ends[partition]) for partition, known in watermarks.items()}
        oldest = await self._oldest({partition: watermarks[partition] for partition in left if left[partition]})
        by_topic = itertools.groupby(sorted(watermarks), key=lambda partition: partition.topic)
        return [
            Backlog(
                group=group,
                topic=topic,
                events=sum(left[partition] for partition in partitions),
                oldest_seconds=max(oldest.get(partition, 0.0) for partition in partitions),
            )
            for topic, partitions in ((topic, list(partitions)) for topic, partitions in by_topic)
        ]

    async def _oldest(self, watermarks: Mapping[Partition, Watermark]) -> dict[Partition, float]:
        """Returns the age in seconds of each partition's first unfinished event."""
        found: dict[Partition, float] = {}
        starts = {partition: known.position + 1 for partition, known in watermarks.items()}
        async with contextlib.aclosing(self._reader.deliveries(starts)) as deliveries:
            async for delivery in deliveries:
                partition = delivery.partition
                if partition not in found and not watermarks[partition].is_finished(delivery.offset):
                    found[partition] = max(0.0, time.time() - delivery.event.time)
                    if len(found) == len(watermarks):
                        break
        return found

    async def _commit(self, group: str, watermarks: Mapping[Partition, Watermark]) -> None:
        """Commits positions of a group without members."""
        names = Names(self._settings.prefix)
        consumer = AIOKafkaConsumer(
            **client_options(self._settings), group_id=self._settings.prefix + group, enable_auto_commit=False
        )
        await consumer.start()
        try:
            consumer.assign([names.in_kafka(partition) for partition in watermarks])
            await consumer.commit(
                {names.in_kafka(partition): position_of(known) for partition, known in watermarks.items()}
            )
        finally:
            await consumer.stop()


def _of_all(events: Sequence[Event], error: BaseException) -> dict[str, BaseException]:
    return {partition_key(event.key): error for event in events}


def _partition(key: bytes, every: Sequence[int], _available: Sequence[int]) -> int:
    return every[_hash(partition_key(key.decode())) % len(every)]


@functools.lru_cache(_HASHES)
def _hash(key: str) -> int:
    """Kafka's own hash of a key. aiokafka computes it in Python, and a conversation has dozens of events."""
    return int(murmur2(key.encode())) & 0x7FFFFFFF


def _chosen(begins: Mapping[Partition, int], starts: Mapping[int, int] | None) -> dict[Partition, int]:
    """Returns the offset to read each partition from, at least its first event's."""
    return {place: max(begin, (starts or {}).get(place.number, begin)) for place, begin in begins.items()}


def _by_topic(events: Sequence[Event]) -> dict[str, list[Event]]:
    batches: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events:
        batches[event.topic].append(event)
    return batches
