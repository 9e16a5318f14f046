"""The interface between a stage and its transport. tests/integration/transport/contract.py tests every adapter."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

from soliloquy.runtime.events import Event
from soliloquy.runtime.failure import Failure


class Unanswered(Failure):
    """The transport does not answer right now; it may later."""


class Partition(NamedTuple):
    topic: str
    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """An event and where it was read."""

    event: Event
    partition: Partition
    offset: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """A finished delivery and its output events."""

    delivery: Delivery
    outputs: Sequence[Event] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Backlog:
    """The unfinished events of a group in one topic, and the age of the oldest."""

    group: str
    topic: str
    events: int
    oldest_seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Lag:
    """The unfinished events of one partition that a consumer holds, and the age of the oldest."""

    partition: Partition
    events: int
    oldest_seconds: float


class Listener(Protocol):
    """Is told which partitions its consumer holds, possibly while a poll is waiting."""

    async def assigned(self, partitions: Collection[Partition]) -> None:
        """The consumer delivers nothing from these partitions before this returns."""

    async def revoked(self, partitions: Collection[Partition]) -> None:
        """Must finish or cancel running events and commit; the partitions are released when this returns."""

    def lost(self, partitions: Collection[Partition]) -> None:
        """Another member holds the partitions already; commits to them would be rejected."""

    def recalled(self, event_id: str) -> None:
        """The group finished this event recently, before this consumer got its partition."""


class Consumer(Protocol):
    """A member of a group. While entered, it holds its share of the topics' partitions."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None: ...

    async def poll(self, limit: int, seconds: float) -> list[Delivery]:
        """Returns at most `limit` deliveries, in order within a partition; none after `seconds` of waiting."""

    def pause(self, partitions: Collection[Partition]) -> None: ...

    def resume(self, partitions: Collection[Partition]) -> None: ...

    async def commit(self, results: Sequence[Result]) -> list[Result]:
        """Makes outputs durable, then positions. Returns the results rejected because their partition was lost."""

    async def unfinished_keys(self, partition: Partition) -> Counter[str]:
        """Counts the group's unfinished events in a partition by key."""

    async def lag(self) -> list[Lag]:
        """Returns the lag of each partition held; raises Unanswered."""

    @property
    def fault(self) -> str:
        """Why the consumer does not consume; empty while it does."""


class Transport(Protocol):
    @property
    def fault(self) -> str:
        """Why events are lost or cannot be published; empty while all is well."""

    @property
    def installation(self) -> str:
        """Names the log, as no other one and always the same; empty where a broker has no name."""

    async def publish(self, events: Sequence[Event]) -> None:
        """Returns when the events are durable. Publishes none of them if one is rejected."""

    def consumer(self, group: str, topics: Sequence[str], listener: Listener) -> Consumer: ...

    def read(
        self, topic: str, numbers: Collection[int] | None = None, starts: Mapping[int, int] | None = None
    ) -> AsyncGenerator[Delivery, None]:
        """Yields every event that a topic, or the partitions `numbers` of it, held at the time of the call.

        `starts` maps partition numbers to the offsets to begin at.
        """

    def follow(self, topic: str, starts: Mapping[int, int] | None = None) -> AsyncGenerator[Delivery, None]:
        """Yields every event from these offsets on, then each as it arrives."""

    async def ends(self, topic: str) -> dict[int, int]:
        """Returns an offset for each partition number: events published so far lie below it, later ones do not."""

    async def identity(self, topic: str) -> str:
        """Names a topic as long as it is there: one that is made anew has another identity. Raises Unanswered."""

    async def backlog(self) -> list[Backlog]:
        """Returns the backlog of every group and topic."""

    async def dead_letters(self) -> Mapping[str, int]:
        """Counts the dead letters of each topic that has any. Raises Unanswered."""

    async def replay(self, letters: Sequence[Delivery]) -> None:
        """Publishes dead letters to their original topics and removes them from the dead-letter topics."""

    async def discard(self, letters: Sequence[Delivery]) -> None:
        """Removes dead letters from the dead-letter topics; repeats change nothing."""


async def first_deliveries(take: Callable[[], list[Delivery]], woken: asyncio.Event, seconds: float) -> list[Delivery]:
    """Takes deliveries, again whenever the adapter wakes the poll, until there are any or the time is over."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        woken.clear()
        if deliveries := take():
            return deliveries
        try:
            async with asyncio.timeout_at(deadline):
                await woken.wait()
        except TimeoutError:
            return []


class Watermark:
    """The offset up to which every event is finished, and the finished offsets beyond it."""

    def __init__(self, position: int, ahead: Iterable[int] = ()) -> None:
        self.position = position
        self.ahead = set(ahead)
        self._taken: deque[int] = deque()
        self._open: set[int] = set()

    def take(self, offset: int) -> bool:
        """Records a fetched offset, in order; returns False if it was finished before."""
        self._taken.append(offset)
        if offset in self.ahead:
            return False
        self._open.add(offset)
        return True

    def is_finished(self, offset: int) -> bool:
        return offset <= self.position or offset in self.ahead

    def is_open(self, offset: int) -> bool:
        return offset in self._open

    def unfinished(self, end: int) -> int:
        """Counts the unfinished offsets below `end`, which may have been asked for before some were taken."""
        return max(0, end - 1 - self.position - len(self.ahead))

    def finish(self, offset: int) -> None:
        self._open.remove(offset)
        self.ahead.add(offset)
        while self._taken and self._taken[0] in self.ahead:
            self.position = self._taken.popleft()
            self.ahead.remove(self.position)

    def skip(self, offset: int) -> None:
        """Finishes an offset that was never taken."""
        if offset > self.position:
            self.ahead.add(offset)
        while self.position + 1 in self.ahead:
            self.position += 1
            self.ahead.remove(self.position)
