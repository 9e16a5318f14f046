"""A group member on the embedded log: holds leases, and fetches and commits under them."""

import asyncio
import os
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from soliloquy.runtime.transports.embedded import leases, records
from soliloquy.runtime.transports.embedded.log import Log, LogUnavailable
from soliloquy.runtime.transports.port import Delivery, Lag, Listener, Partition, Result, Watermark, first_deliveries


@dataclass(kw_only=True, slots=True)
class _HeldPartition:
    """A partition while this member holds its lease."""

    epoch: int
    watermark: Watermark
    fetched: int
    leaving: bool = False


class EmbeddedConsumer:
    def __init__(
        self,
        log: Log,
        followers: defaultdict[str, set[asyncio.Event]],
        *,
        group: str,
        topics: Sequence[str],
        listener: Listener,
    ) -> None:
        self._log = log
        self._followers = followers
        self._group = group
        self._topics = frozenset(topics)
        self._listener = listener
        self._name = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._held: dict[Partition, _HeldPartition] = {}
        self._paused: set[Partition] = set()
        self._woken = asyncio.Event()
        self._failure: BaseException | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._log.write(
            partial(leases.join, group=self._group, topics=self._topics, partitions=self._log.partitions)
        )
        for topic in self._topics:
            self._followers[topic].add(self._woken)
        self._start(self._stay())
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        for topic in self._topics:
            self._followers[topic].discard(self._woken)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._held.clear()
        # A failing log is reported elsewhere, and the lease expires by itself.
        with suppress(*[LogUnavailable] if error else []):
            await self._log.write(partial(leases.leave, group=self._group, member=self._name))

    async def poll(self, limit: int, seconds: float) -> list[Delivery]:
        return await first_deliveries(partial(self._take, limit), self._woken, seconds)

    def pause(self, partitions: Collection[Partition]) -> None:
        self._paused.update(partitions)

    def resume(self, partitions: Collection[Partition]) -> None:
        self._paused.difference_update(partitions)
        self._woken.set()

    async def commit(self, results: Sequence[Result]) -> list[Result]:
        refused: list[Result] = []
        accepted: defaultdict[Partition, list[Result]] = defaultdict(list)
        for result in results:
            delivery = result.delivery
            held = self._held.get(delivery.partition)
            # An offset that is not open was delivered under an earlier lease.
            is_open = held is not None and held.watermark.is_open(delivery.offset)
            (accepted[delivery.partition] if is_open else refused).append(result)
        advances = [self._advance(partition, finished) for partition, finished in accepted.items()]
        job = partial(
            leases.commit, group=self._group, member=self._name, advances=advances, partitions=self._log.partitions
        )
        if advances and (fenced := await self._log.write(job)):
            self._lose(fenced)
            refused += [result for result in results if result.delivery.partition.number in fenced]
        return refused

    async def unfinished_keys(self, partition: Partition) -> Counter[str]:
        return self._log.read(partial(records.unfinished_keys, group=self._group, partition=partition))

    async def lag(self) -> list[Lag]:
        return self._log.read(partial(records.lag, group=self._group, partitions=list(self._held)))

    @property
    def fault(self) -> str:
        return str(self._failure or "")

    def _take(self, limit: int) -> list[Delivery]:
        if self._failure:
            raise self._failure
        self._log.raise_failure()
        return self._fetch(limit)

    def _advance(self, partition: Partition, results: Sequence[Result]) -> leases.Advance:
        held = self._held[partition]
        ahead = held.watermark.ahead.copy()
        offsets = [result.delivery.offset for result in results]
        for offset in offsets:
            held.watermark.finish(offset)
        return leases.Advance(
            partition=partition,
            epoch=held.epoch,
            watermark=held.watermark.position,
            ahead=[offset for offset in offsets if offset in held.watermark.ahead],
            overtakes=not ahead <= held.watermark.ahead,
            outputs=[output for result in results for output in result.outputs],
        )

    def _fetch(self, limit: int) -> list[Delivery]:
        behind = [
            (partition, held.fetched)
            for partition, held in self._held.items()
            if not held.leaving and partition not in self._paused and self._log.ends.get(partition, 0) > held.fetched
        ]
        if not behind:
            return []
        fresh: list[Delivery] = []
        for partition, deliveries in self._log.read(partial(records.fetch, places=behind, limit=limit)):
            # Move it to the back, so that a busy partition does not starve the others.
            held = self._held[partition] = self._held.pop(partition)
            # Missing offsets below the known end were finished and purged.
            held.fetched = deliveries[-1].offset if deliveries else self._log.ends[partition]
            fresh += [delivery for delivery in deliveries if held.watermark.take(delivery.offset)]
        return fresh

    async def _stay(self) -> None:
        while True:
            job = partial(leases.renew, group=self._group, member=self._name, now=time.time())
            await self._follow(await self._log.write(job))
            # All consumers renew at the same moments: they share a transaction, and wake other processes once.
            await asyncio.sleep(leases.RENEW_SECONDS - time.time() % leases.RENEW_SECONDS)

    async def _follow(self, share: leases.LeaseShare) -> None:
        """Updates the held partitions to match the leases."""
        epochs = {partition.number: held.epoch for partition, held in self._held.items()}
        self._lose({number for number, epoch in epochs.items() if share.epochs.get(number) != epoch})
        if gained := share.epochs.keys() - {partition.number for partition in self._held}:
            await self._gain({number: share.epochs[number] for number in gained})
        surplus = self._partitions(share.surplus)
        if fresh := [partition for partition in surplus if not self._held[partition].leaving]:
            self._start(self._give_up(fresh))

    async def _gain(self, epochs: dict[int, int]) -> None:
        partitions = [Partition(topic, number) for topic in self._topics for number in sorted(epochs)]
        positions = self._log.read(partial(leases.positions, group=self._group, partitions=partitions))
        await self._listener.assigned(partitions)
        for partition, (watermark, ahead) in zip(partitions, positions, strict=True):
            self._held[partition] = _HeldPartition(
                epoch=epochs[partition.number], watermark=Watermark(watermark, ahead), fetched=watermark
            )
        self._woken.set()

    async def _give_up(self, partitions: list[Partition]) -> None:
        leaving = {partition: self._held[partition] for partition in partitions}
        for held in leaving.values():
            held.leaving = True
        await self._listener.revoked(partitions)
        # A partition may have been lost and gained again in the meantime.
        ready = [partition for partition, held in leaving.items() if self._held.get(partition) is held]
        self._drop(ready)
        numbers = {partition.number for partition in ready}
        await self._log.write(partial(leases.release, group=self._group, member=self._name, numbers=numbers))

    def _lose(self, numbers: Collection[int]) -> None:
        if partitions := self._partitions(numbers):
            self._drop(partitions)
            self._listener.lost(partitions)

    def _drop(self, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            del self._held[partition]
            self._paused.discard(partition)

    def _partitions(self, numbers: Collection[int]) -> list[Partition]:
        return [partition for partition in self._held if partition.number in numbers]

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._failure = error
            self._woken.set()
