"""Lanes: events of one key of a topic run in order; different lanes run concurrently."""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial

from soliloquy.runtime.transports.port import Delivery, Partition


@dataclass(frozen=True, kw_only=True, slots=True)
class Hold:
    """Keeps a delivery at the head of its lane for some seconds, or until a future is done."""

    delivery: Delivery
    seconds: float = 0.0
    until: asyncio.Future[None] | None = None


@dataclass(kw_only=True, slots=True, eq=False)
class Lane:
    """The queued events of one key of a topic."""

    key: tuple[str, str]
    partition: Partition
    waiting: deque[Delivery]
    worker: asyncio.Task[None] | None = None
    # Cancels the wait of a held delivery.
    unhold: Callable[[], object] | None = None
    # Set once the lane accepts no more events; resolved when its running event has ended.
    ended: asyncio.Future[None] | None = None


class Lanes:
    """Runs at most `width` events at once, one per lane. `run` finishes an event or asks to hold it."""

    def __init__(self, width: int, run: Callable[[Delivery], Awaitable[Hold | None]], tasks: asyncio.TaskGroup) -> None:
        self._width = width
        self._run = run
        self._tasks = tasks
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._ready: deque[Lane] = deque()
        self._workers: set[asyncio.Task[None]] = set()
        self._starting = 0
        # Unfinished events of each partition.
        self.load: Counter[Partition] = Counter()

    @property
    def in_use(self) -> int:
        return len(self._workers)

    @property
    def ready(self) -> int:
        return len(self._ready)

    def add(self, delivery: Delivery) -> None:
        key = (delivery.event.topic, delivery.event.key)
        self.load[delivery.partition] += 1
        if lane := self._lanes.get(key):
            lane.waiting.append(delivery)
        else:
            lane = self._lanes[key] = Lane(key=key, partition=delivery.partition, waiting=deque([delivery]))
            self._make_ready(lane)

    def retire(self, partitions: Collection[Partition]) -> list[asyncio.Future[None]]:
        """Drops queued events and returns a future for each lane that still runs one."""
        running = []
        for lane in self._of(partitions):
            self.load[lane.partition] -= len(lane.waiting)
            lane.waiting.clear()
            lane.ended = lane.ended or asyncio.get_running_loop().create_future()
            if lane.worker:
                running.append(lane.ended)
            else:
                self._forget(lane)
        return running

    def cancel(self, partitions: Collection[Partition]) -> None:
        """Cancels running events and drops the rest."""
        self.retire(partitions)
        for lane in self._of(partitions):
            if lane.worker:
                lane.worker.cancel()
                self._workers.discard(lane.worker)
            if lane.ended:
                lane.ended.set_result(None)
            self._forget(lane)
        for partition in partitions:
            del self.load[partition]
        self._employ()

    def _of(self, partitions: Collection[Partition]) -> Iterator[Lane]:
        return (lane for lane in list(self._lanes.values()) if lane.partition in partitions)

    def _forget(self, lane: Lane) -> None:
        if lane.unhold:
            lane.unhold()
        del self._lanes[lane.key]

    def _make_ready(self, lane: Lane) -> None:
        lane.unhold = None
        self._ready.append(lane)
        self._employ()

    def _employ(self) -> None:
        """Starts workers for ready lanes. A worker moves from lane to lane while any is ready."""
        while len(self._workers) < self._width and self._starting < len(self._ready):
            self._starting += 1
            self._workers.add(self._tasks.create_task(self._work()))

    async def _work(self) -> None:
        self._starting -= 1
        worker = asyncio.current_task()
        assert worker
        try:
            while self._ready:
                lane = self._ready.popleft()
                if lane.ended is None:
                    lane.worker = worker
                    hold = await self._run(lane.waiting.popleft())
                    lane.worker = None
                    self._advance(lane, hold)
        finally:
            self._workers.discard(worker)

    def _advance(self, lane: Lane, hold: Hold | None) -> None:
        if lane.ended:
            self.load[lane.partition] -= 1
            lane.ended.set_result(None)
            self._forget(lane)
        elif hold:
            lane.waiting.appendleft(hold.delivery)
            self._hold(lane, hold)
        else:
            self.load[lane.partition] -= 1
            if lane.waiting:
                # Queue it behind the other lanes, so that a long lane does not keep its worker.
                self._ready.append(lane)
            else:
                del self._lanes[lane.key]

    def _hold(self, lane: Lane, hold: Hold) -> None:
        if hold.until is None:
            lane.unhold = asyncio.get_running_loop().call_later(hold.seconds, self._make_ready, lane).cancel
            return

        def wake(_: asyncio.Future[None]) -> None:
            self._make_ready(lane)

        hold.until.add_done_callback(wake)
        lane.unhold = partial(hold.until.remove_done_callback, wake)
