"""A member of a Kafka group: fetches with aiokafka and commits at the contiguous watermark."""

import asyncio
import contextlib
import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Self

from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from soliloquy.runtime.events import Event
from soliloquy.runtime.topics import is_retry
from soliloquy.runtime.transports.answering import PAUSE_SECONDS, retry_until_answered
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.kafka.connection import Names, member, some
from soliloquy.runtime.transports.kafka.positions import BatchMetrics, HeldPartition, usable
from soliloquy.runtime.transports.kafka.reader import ANSWER_SECONDS, Reader
from soliloquy.runtime.transports.kafka.records import Record, delivery_of
from soliloquy.runtime.transports.port import Delivery, Lag, Listener, Partition, Result, first_deliveries

WAIT_SECONDS = 1.0
BATCH_RECORDS = 256
# Buffered events of a partition while the stage is busy; beyond that we pause the partition.
FETCHED_AHEAD = 256
# How many finished events of an assigned partition we reread for their ids: a crash repeats recent ones.
RECALLED = 256
# Seconds between commits. After a kill, events since the last commit are redelivered, and known by their ids.
COMMIT_SECONDS = 0.1
SILENT_SECONDS = 3 * ANSWER_SECONDS


class KafkaConsumer(ConsumerRebalanceListener):
    def __init__(
        self,
        reader: Reader,
        publish: Callable[[Sequence[Event]], Awaitable[None]],
        metrics: BatchMetrics,
        settings: KafkaSettings,
        *,
        group: str,
        topics: Sequence[str],
        listener: Listener,
    ) -> None:
        self._reader = reader
        self._names = Names(settings.prefix)
        self._publish = publish
        self._metrics = metrics
        self._settings = settings
        self._group = group
        self._topics = topics
        self._listener = listener
        self._held: dict[Partition, HeldPartition] = {}
        self._woken = asyncio.Event()
        self._failure: BaseException | None = None
        self._joined = False
        self._answered_at = time.monotonic()
        self._moved: set[Partition] = set()
        self._any_moved = asyncio.Event()
        self._commit_turn = asyncio.Lock()
        # Why nothing can be fetched right now.
        self._fetch_fault = ""

    async def __aenter__(self) -> Self:
        self._consumer = member(self._settings, self._group)
        self._consumer.subscribe([self._names.prefix + topic for topic in self._topics], listener=self)
        try:
            await self._consumer.start()
        except BaseException:
            await self._consumer.stop()
            raise
        self._fetching = asyncio.create_task(self._fetch())
        self._committing = asyncio.create_task(self._commit_regularly())
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._committing.cancel()
        self._fetching.cancel()
        # The next member repeats what cannot be committed.
        with contextlib.suppress(*[KafkaUnavailable] if error else []):
            await self._commit_positions()
        self._held.clear()
        await self._consumer.stop()

    @property
    def fault(self) -> str:
        if self._failure:
            return str(self._failure)
        if not self._joined:
            return f"{self._group} has not joined its group"
        if (seconds := time.monotonic() - self._answered_at) > SILENT_SECONDS:
            return f"no broker has answered {self._group} for {seconds:.0f} s"
        if restarted := {partition.topic for partition, held in self._held.items() if held.restart_at is not None}:
            return f"{self._group} begins {some(sorted(restarted))} anew"
        return self._fetch_fault

    async def poll(self, limit: int, seconds: float) -> list[Delivery]:
        return await first_deliveries(partial(self._take, limit), self._woken, seconds)

    def pause(self, partitions: Collection[Partition]) -> None:
        self._set_paused(partitions, paused=True)

    def resume(self, partitions: Collection[Partition]) -> None:
        self._set_paused(partitions, paused=False)
        self._woken.set()

    async def commit(self, results: Sequence[Result]) -> list[Result]:
        """Returns when outputs are durable; positions follow later. Raises KafkaUnavailable."""
        held_before = dict(self._held)
        fresh = [result for result in results if self._is_open(result)]
        await self._publish([output for result in fresh for output in result.outputs])
        self._expect_retries(fresh)
        accepted = set()
        for result in fresh:
            partition = result.delivery.partition
            # The partition may have been lost, and even regained, during the publish.
            if self._held.get(partition) is held_before[partition] and self._is_open(result):
                self._finish(self._held[partition], result.delivery.offset)
                self._moved.add(partition)
                accepted.add(id(result))
        self._any_moved.set()
        return [result for result in results if id(result) not in accepted]

    async def unfinished_keys(self, partition: Partition) -> Counter[str]:
        watermark = self._held[partition].watermark
        starts = {partition: watermark.position + 1}
        return Counter(
            [
                delivery.event.key
                async for delivery in self._reader.deliveries(starts)
                if delivery.offset not in watermark.ahead
            ]
        )

    async def lag(self) -> list[Lag]:
        lost, asked_at = self._reader.topics.lost, time.monotonic()
        held = {partition: known for partition, known in self._held.items() if partition.topic not in lost}
        positions = {partition: known.watermark.position for partition, known in held.items()}
        ends = await self._reader.ends(held)
        self._answered_at = time.monotonic()
        if cut := [each for each, end in ends.items() if positions[each] >= end]:
            await self._begin_cut_logs(cut, ends)
        now = time.time()
        for partition, known in self._held.items():
            if is_retry(partition.topic) and held.get(partition) is known and known.filled_at < asked_at:
                known.empty = known.next_offset >= ends[partition]
                self._regulate(partition, known)
        return [
            Lag(
                partition=partition,
                events=(events := known.watermark.unfinished(ends[partition])),
                oldest_seconds=now - next(iter(known.made.values()), known.moved_at) if events else 0.0,
            )
            for partition, known in held.items()
        ]

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        try:
            gained = [self._names.from_kafka(*partition) for partition in assigned]
            await retry_until_answered(partial(self._gain, gained))
        except Exception as error:
            self._fail(error)
        self._joined = True

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        partitions = [partition for there in revoked if (partition := self._names.from_kafka(*there)) in self._held]
        for partition in partitions:
            self._held[partition].ready = False
        try:
            if self._is_member():
                await self._listener.revoked(partitions)
                await self._commit_positions()
            else:
                self._listener.lost(partitions)
        except Exception as error:
            self._fail(error)
        for partition in partitions:
            self._held.pop(partition, None)

    async def _gain(self, assigned: Collection[Partition]) -> None:
        await self._reader.look({partition.topic for partition in assigned})
        made = self._reader.topics.generations.copy()
        committed = await self._reader.watermarks(self._group, assigned)
        begins, ends = await self._reader.bounds(assigned)
        for partition in assigned:
            known = usable(committed.get(partition), begins[partition], ends[partition])
            start = max(begins[partition], known.position + 1 - (0 if is_retry(partition.topic) else RECALLED))
            self._consumer.seek(self._names.in_kafka(partition), start)
            self._consumer.resume(self._names.in_kafka(partition))
            empty = is_retry(partition.topic) and start >= ends[partition]
            held = HeldPartition(watermark=known, next_offset=start, generation=made[partition.topic], empty=empty)
            self._held[partition] = held
            self._regulate(partition, held)
        await self._listener.assigned(assigned)
        for partition in assigned:
            self._held[partition].ready = True
        # An autoscaler cannot see the lag of a group without positions, or with those of an earlier topic.
        self._moved.update(assigned)
        self._any_moved.set()
        self._woken.set()

    async def _fetch(self) -> None:
        while True:
            try:
                self._begin_remade_topics()
                found = await self._consumer.getmany(timeout_ms=int(1000 * WAIT_SECONDS), max_records=BATCH_RECORDS)
                if found:
                    records = list(itertools.chain.from_iterable(found.values()))
                    await self._metrics.count_received(records, self._receive)
                self._fetch_fault = ""
            except KafkaError as error:
                self._fetch_fault = f"{self._group} cannot fetch: {error}"
                await asyncio.sleep(PAUSE_SECONDS)
            except Exception as error:
                self._fail(error)
                return

    def _begin_remade_topics(self) -> None:
        generations = self._reader.topics.generations
        self._restart({each: 0 for each, held in self._held.items() if held.generation != generations[each.topic]})

    async def _begin_cut_logs(self, cut: Sequence[Partition], ends: Mapping[Partition, int]) -> None:
        """Goes back a little: a broker that lost the end of its log gives those offsets to other events."""
        await self._reader.look({partition.topic for partition in cut})
        self._begin_remade_topics()
        # The ids of the last events tell which are new.
        begins = await self._reader.begins(cut)
        self._restart({partition: max(begins[partition], ends[partition] - RECALLED) for partition in cut})

    def _restart(self, offsets: Mapping[Partition, int]) -> None:
        """Has the group hand out its partitions again, with positions at these offsets."""
        for partition, offset in offsets.items():
            if (held := self._held.get(partition)) and held.restart_at is None:
                held.restart_at = offset
                self._moved.add(partition)
                if coordinator := self._consumer._coordinator:
                    coordinator.request_rejoin()

    def _receive(self, records: Sequence[Record]) -> None:
        for record in records:
            partition = self._names.from_kafka(record.topic, record.partition)
            held = self._held.get(partition)
            if held is None or record.offset < held.next_offset:
                continue
            held.next_offset = record.offset + 1
            delivery = delivery_of(record, partition)
            if record.offset <= held.watermark.position or not held.watermark.take(record.offset):
                self._listener.recalled(delivery.event.id)
                continue
            held.made[record.offset] = delivery.event.time
            held.waiting.append(delivery)
            self._regulate(partition, held)
        self._woken.set()

    def _set_paused(self, partitions: Collection[Partition], *, paused: bool) -> None:
        for partition in partitions:
            if held := self._held.get(partition):
                held.paused = paused
                self._regulate(partition, held)

    def _take(self, limit: int) -> list[Delivery]:
        if self._failure:
            raise self._failure
        taken: list[Delivery] = []
        for partition, held in list(self._held.items()):
            if held.paused or not held.ready or not held.waiting:
                continue
            while held.waiting and len(taken) < limit:
                taken.append(held.waiting.popleft())
            self._regulate(partition, held)
            # Move it to the back, so that a busy partition does not starve the others.
            self._held[partition] = self._held.pop(partition)
            if len(taken) == limit:
                break
        return taken

    def _regulate(self, partition: Partition, held: HeldPartition) -> None:
        """Pauses a partition that is full or empty; polling goes on either way."""
        stop = held.paused or held.empty or len(held.waiting) >= FETCHED_AHEAD
        if stop != held.stopped:
            held.stopped = stop
            if stop:
                self._consumer.pause(self._names.in_kafka(partition))
            else:
                self._consumer.resume(self._names.in_kafka(partition))

    def _expect_retries(self, results: Sequence[Result]) -> None:
        """Resumes the retry partitions that these results fill. The same member holds them."""
        for result in results:
            for topic in {output.topic for output in result.outputs if is_retry(output.topic)}:
                partition = Partition(topic, result.delivery.partition.number)
                if held := self._held.get(partition):
                    held.empty, held.filled_at = False, time.monotonic()
                    self._regulate(partition, held)

    def _is_open(self, result: Result) -> bool:
        held = self._held.get(result.delivery.partition)
        return held is not None and held.watermark.is_open(result.delivery.offset)

    def _finish(self, held: HeldPartition, offset: int) -> None:
        held.watermark.finish(offset)
        del held.made[offset]
        held.moved_at = time.time()

    async def _commit_regularly(self) -> None:
        while True:
            await self._any_moved.wait()
            self._any_moved.clear()
            try:
                await self._commit_positions()
            except KafkaUnavailable as error:
                self._fail(error)
            await asyncio.sleep(COMMIT_SECONDS)

    async def _commit_positions(self) -> None:
        async with self._commit_turn:
            while moved := self._movable():
                self._moved -= moved
                positions = {self._names.in_kafka(partition): self._held[partition].position for partition in moved}
                try:
                    async with asyncio.timeout(ANSWER_SECONDS):
                        await self._consumer.commit(positions)
                except TimeoutError:
                    self._moved |= moved
                    continue
                except (CommitFailedError, IllegalStateError):
                    # The group rebalanced without this member.
                    lost = list(self._held)
                    self._held.clear()
                    self._listener.lost(lost)
                except KafkaError as error:
                    raise KafkaUnavailable(f"the position of {self._group} cannot be committed: {error}") from error
                return

    def _movable(self) -> set[Partition]:
        # A topic that is gone takes no position, and aiokafka would try for ever.
        return {each for each in self._moved & self._held.keys() if each.topic not in self._reader.topics.lost}

    def _is_member(self) -> bool:
        """False once the session expired: aiokafka then revokes partitions that others hold, and does not say why."""
        coordinator = self._consumer._coordinator
        return coordinator is not None and coordinator.generation > 0

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self._woken.set()
