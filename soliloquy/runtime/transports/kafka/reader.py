"""Reads topics from any offset, outside any group, and looks up the positions of groups."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Mapping
from typing import Any, Self

from aiokafka import AIOKafkaConsumer, errors
from aiokafka.admin import AIOKafkaAdminClient

from soliloquy.runtime.transports.answering import retry_until_answered
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.connection import METADATA_MS, Names, client_options
from soliloquy.runtime.transports.kafka.known_topics import KnownTopics
from soliloquy.runtime.transports.kafka.positions import decoded
from soliloquy.runtime.transports.kafka.records import delivery_of
from soliloquy.runtime.transports.kafka.topic_ids import TopicsRequest
from soliloquy.runtime.transports.port import Delivery, Partition, Unanswered, Watermark

PAGE_SECONDS = 0.2
WAIT_SECONDS = 2.0
_WAIT_MS = int(1000 * WAIT_SECONDS)
PAGE_RECORDS = 500
# Long enough to elect a leader, short enough to report that there is none.
ANSWER_SECONDS = 5.0
# How often lost topics are looked for.
LOOK_SECONDS = 2.0
# Raised for a moment after a coordinator starts or moves.
_LOADING = (
    errors.GroupLoadInProgressError,
    errors.GroupCoordinatorNotAvailableError,
    errors.NotCoordinatorForGroupError,
)


class Reader:
    def __init__(self, settings: KafkaSettings) -> None:
        self._names = Names(settings.prefix)
        self._options = client_options(settings) | {"request_timeout_ms": int(1000 * ANSWER_SECONDS)}
        self._begun = False
        self._renewing = asyncio.Lock()
        self.topics = KnownTopics(settings)
        # The cluster's own name for itself.
        self.cluster = ""

    async def __aenter__(self) -> Self:
        await self._begin()
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watching.cancel()
        if self._begun:
            await self._end()

    async def _begin(self) -> None:
        self._admin = AIOKafkaAdminClient(**self._options)
        self._looking = self._consumer()
        self._begun = True
        try:
            await self._admin.start()
            await self._looking.start()
            answer = await self._admin._send_request(TopicsRequest([]))
            self.cluster = answer.to_object()["cluster_id"] or ""
        except BaseException:
            await self._end()
            raise

    async def _end(self) -> None:
        self._begun = False
        await self._looking.stop()
        await self._admin.close()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            with contextlib.suppress(Unanswered):
                await self.look(self.topics.found)

    async def look(self, topics: Collection[str]) -> None:
        """Updates what is known of these topics."""
        if topics:
            async with self._answered():
                # The public methods know no ids, and have the broker create topics.
                request = TopicsRequest([self._names.prefix + topic for topic in topics])
                answer = await self._admin._send_request(request)
            self.topics.take(answer.to_object()["topics"])

    async def partitions(self, topics: Collection[str]) -> list[Partition]:
        """Returns the partitions of the topics that exist."""
        known = self.topics
        await self.look([topic for topic in topics if topic not in known.found])
        there = [topic for topic in topics if topic in known.found and topic not in known.lost]
        return [partition for topic in there for partition in known.found[topic].partitions]

    async def bounds(self, partitions: Collection[Partition]) -> tuple[dict[Partition, int], dict[Partition, int]]:
        return await self.begins(partitions), await self.ends(partitions)

    async def begins(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        return await self._offsets(partitions, AIOKafkaConsumer.beginning_offsets)

    async def ends(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        """Returns the offset of each partition's next event."""
        return await self._offsets(partitions, AIOKafkaConsumer.end_offsets)

    async def _offsets(self, partitions: Collection[Partition], of: Any) -> dict[Partition, int]:
        there = {self._names.in_kafka(partition): partition for partition in partitions}
        async with self._answered():
            offsets = await of(self._looking, list(there)) if there else {}
        return {there[partition]: offset for partition, offset in offsets.items()}

    async def groups(self) -> list[str]:
        groups = await retry_until_answered(self._all_groups)
        return sorted(group.removeprefix(self._names.prefix) for group in groups if self._names.is_ours(group))

    async def _all_groups(self) -> set[str]:
        async with self._answered():
            return {group for group, *_ in await self._admin.list_consumer_groups()}

    async def watermarks(
        self, group: str, partitions: Collection[Partition] | None = None
    ) -> dict[Partition, Watermark]:
        """Returns a group's positions in these partitions, or in all where it has committed."""
        if partitions is not None and not partitions:
            return {}
        asked = None if partitions is None else [self._names.in_kafka(partition) for partition in partitions]
        async with self._answered():
            committed = await self._admin.list_consumer_group_offsets(self._names.prefix + group, partitions=asked)
        return {
            self._names.from_kafka(*partition): Watermark(found.offset - 1, decoded(found.offset, found.metadata))
            for partition, found in committed.items()
            if found.offset >= 0 and self._names.is_ours(partition.topic)
        }

    async def deliveries(self, starts: Mapping[Partition, int]) -> AsyncGenerator[Delivery, None]:
        """Yields events from each start to the end at the time of the call, in order within a partition.

        Raises Unanswered if a topic is lost meanwhile.
        """
        state = self._state(starts)
        ends = await self.ends(starts)
        unread = {partition for partition, start in starts.items() if start < ends[partition]}
        if not unread:
            return
        async with self._reading({partition: starts[partition] for partition in unread}) as consumer:
            while unread:
                if self._state(starts) != state or not state.keys().isdisjoint(self.topics.lost):
                    raise Unanswered("a topic was lost while it was read")
                for delivery in await self._page(consumer):
                    if delivery.offset < ends[delivery.partition]:
                        yield delivery
                for partition in list(unread):
                    # The last offsets may have no record: compaction and transactions leave gaps.
                    if await consumer.position(self._names.in_kafka(partition)) >= ends[partition]:
                        unread.remove(partition)
                        consumer.pause(self._names.in_kafka(partition))

    async def endless_deliveries(self, starts: Mapping[Partition, int]) -> AsyncGenerator[Delivery, None]:
        """Yields all events from each start on, and new ones as they arrive, until a topic is made anew or grows."""
        state = self._state(starts)
        async with self._reading(starts, metadata_max_age_ms=METADATA_MS, fetch_max_wait_ms=_WAIT_MS) as consumer:
            while self._state(starts) == state:
                for delivery in await self._page(consumer, WAIT_SECONDS):
                    yield delivery

    def _state(self, partitions: Iterable[Partition]) -> dict[str, tuple[int, int]]:
        """Returns how often each topic was made anew, and how many partitions it has."""
        known = {partition.topic: self.topics.found.get(partition.topic) for partition in partitions}
        return {
            topic: (self.topics.generations[topic], len(found.partitions) if found else 0)
            for topic, found in known.items()
        }

    async def _page(self, consumer: AIOKafkaConsumer, seconds: float = PAGE_SECONDS) -> list[Delivery]:
        pages = await consumer.getmany(timeout_ms=int(1000 * seconds), max_records=PAGE_RECORDS)
        return [
            delivery_of(record, self._names.from_kafka(*partition))
            for partition, page in pages.items()
            for record in page
        ]

    @contextlib.asynccontextmanager
    async def _reading(self, starts: Mapping[Partition, int], **options: int) -> AsyncIterator[AIOKafkaConsumer]:
        consumer = self._consumer(**options)
        try:
            async with self._answered():
                await consumer.start()
            consumer.assign([self._names.in_kafka(partition) for partition in starts])
            for partition, start in starts.items():
                consumer.seek(self._names.in_kafka(partition), start)
            yield consumer
        finally:
            await consumer.stop()

    def _consumer(self, **options: int) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(**self._options, enable_auto_commit=False, auto_offset_reset="earliest", **options)

    @contextlib.asynccontextmanager
    async def _answered(self) -> AsyncIterator[None]:
        async with self._renewing:
            if not self._begun:
                try:
                    await self._begin()
                except errors.KafkaError as error:
                    raise Unanswered(f"Kafka does not answer: {error}") from error
        admin = self._admin
        try:
            yield
        except _LOADING as error:
            raise Unanswered(f"Kafka is not ready to answer: {error}") from error
        except (errors.KafkaError, errors.ConsumerStoppedError) as error:
            async with self._renewing:
                # A client whose broker fell silent never asks another for the leader; a fresh client does.
                if self._begun and self._admin is admin:
                    await self._end()
            raise Unanswered(f"Kafka does not answer: {error}") from error
