"""What a stage needs of a transport; every adapter holds the promises of tests/integration/transport/contract.py."""

from collections import Counter
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from soliloquy.runtime.events import Event


class Unanswered(Exception):
    """The transport does not answer at the moment, and may later."""


class Partition(NamedTuple):
    topic: str
    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """An event and the place it was read from."""

    event: Event
    partition: Partition
    offset: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """A delivery that is finished with, and the events that follow from it."""

    delivery: Delivery
    outputs: Sequence[Event] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Backlog:
    """What a group has yet to finish of a topic, and how many seconds ago the oldest of it was made."""

    group: str
    topic: str
    events: int
    oldest_seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Lag:
    """The same of one partition that a consumer holds."""

    partition: Partition
    events: int
    oldest_seconds: float


class Listener(Protocol):
    """Hears which partitions its consumer holds. May be called while a poll is waiting."""

    async def assigned(self, partitions: Collection[Partition]) -> None:
        """Nothing of these partitions is delivered before this returns."""

    async def revoked(self, partitions: Collection[Partition]) -> None:
        """Finish or give up what is running and commit it: they are given away when this returns."""

    def lost(self, partitions: Collection[Partition]) -> None:
        """Another member has them already: results of theirs would be refused."""

    def recalled(self, event_id: str) -> None:
        """The group was done with this event lately, before its partition came to this consumer."""


class Consumer(Protocol):
    """A member of a group; entered, it takes its share of the topics' partitions."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def poll(self, limit: int, seconds: float) -> list[Delivery]:
        """At most `limit` deliveries, each partition's in order; empty when there is none for so many seconds."""

    def pause(self, partitions: Collection[Partition]) -> None: ...

    def resume(self, partitions: Collection[Partition]) -> None: ...

    async def commit(self, results: Sequence[Result]) -> list[Result]:
        """Make outputs durable, then the positions; returns the results refused because their partition was lost."""

    async def unfinished_keys(self, partition: Partition) -> Counter[str]:
        """How many events of each key the group has yet to finish in a partition."""

    async def lag(self) -> list[Lag]:
        """Of each partition held; raises Unanswered."""

    @property
    def fault(self) -> str:
        """Why it does not consume; empty while it does."""


class Transport(Protocol):
    async def publish(self, events: Sequence[Event]) -> None:
        """Returns when the events are durable; none is published where one is refused."""

    def consumer(self, group: str, topics: Sequence[str], listener: Listener) -> Consumer: ...

    def read(
        self, topic: str, numbers: Collection[int] | None = None, starts: Mapping[int, int] | None = None
    ) -> AsyncGenerator[Delivery, None]:
        """Every event that a topic, or those of its partitions, held at the call, from the first to the last.

        `starts` are offsets to begin at, by the number of their partition.
        """

    def follow(self, topic: str, starts: Mapping[int, int] | None = None) -> AsyncGenerator[Delivery, None]:
        """Every event that a topic holds, from these offsets on, and then each as it comes."""

    async def ends(self, topic: str) -> dict[int, int]:
        """Returns an offset for each partition number: events published so far lie below it, later ones do not."""

    async def backlog(self) -> list[Backlog]:
        """Of every group and topic it reads."""

    async def dead_letters(self) -> Mapping[str, int]:
        """How many each dead-letter topic holds; topics without any are left out. Raises Unanswered."""

    async def replay(self, letters: Sequence[Delivery]) -> None:
        """Publish dead letters to their origin as they first were, and take them out of the dead-letter topic."""
