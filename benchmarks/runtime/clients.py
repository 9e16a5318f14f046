"""What is measured, and what beside it: each publishes events and serves stages."""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Protocol

from benchmarks.runtime.bare import BareClient
from benchmarks.runtime.topics import own_topics
from soliloquy.runtime.events import Event
from soliloquy.runtime.handling import Service
from soliloquy.runtime.stage import Stage
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.transport import KafkaTransport


class Serving(Protocol):
    async def run(self) -> None: ...

    def stop(self, grace: float) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    publish: Callable[[Sequence[Event]], Awaitable[None]]
    stage: Callable[[Service], Serving]
    # Numbers events, so that none comes twice.
    numbers: Iterator[int] = field(default_factory=count)
    # Where the events are kept, if that is a file.
    file: Path | None = None


@asynccontextmanager
async def connected(kafka: KafkaSettings | None) -> AsyncIterator[dict[str, Client]]:
    """On Kafka our own client and the bare one, each with topics to itself; on the embedded log our own."""
    async with AsyncExitStack() as at_hand:
        if kafka is None:
            file = Path(at_hand.enter_context(tempfile.TemporaryDirectory())) / "log.sqlite"
            log = await at_hand.enter_async_context(EmbeddedTransport(file))
            yield {"ours": Client(publish=log.publish, stage=partial(Stage, transport=log), file=file)}
            return
        ours = KafkaTransport(await at_hand.enter_async_context(own_topics(kafka)))
        bare = BareClient(await at_hand.enter_async_context(own_topics(kafka)))
        await at_hand.enter_async_context(ours)
        await at_hand.enter_async_context(bare)
        yield {
            "ours": Client(publish=ours.publish, stage=partial(Stage, transport=ours)),
            "bare": Client(publish=bare.publish, stage=bare.stage),
        }
