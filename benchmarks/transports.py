"""The transports that are compared: each publishes events and serves stages."""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Protocol

from benchmarks.bare_kafka import BareClient
from benchmarks.kafka_topics import own_topics
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
    # Gives every event a number of its own.
    numbers: Iterator[int] = field(default_factory=count)
    # The embedded log.
    file: Path | None = None


@asynccontextmanager
async def connected(kafka: KafkaSettings | None) -> AsyncIterator[dict[str, Client]]:
    """Yields our client and a bare one on Kafka, each with topics of its own; our client alone on the embedded log."""
    async with AsyncExitStack() as resources:
        if kafka is None:
            file = Path(resources.enter_context(tempfile.TemporaryDirectory())) / "log.sqlite"
            log = await resources.enter_async_context(EmbeddedTransport(file))
            yield {"ours": Client(publish=log.publish, stage=partial(Stage, transport=log), file=file)}
            return
        ours = KafkaTransport(await resources.enter_async_context(own_topics(kafka)))
        bare = BareClient(await resources.enter_async_context(own_topics(kafka)))
        await resources.enter_async_context(ours)
        await resources.enter_async_context(bare)
        yield {
            "ours": Client(publish=ours.publish, stage=partial(Stage, transport=ours)),
            "bare": Client(publish=bare.publish, stage=bare.stage),
        }
