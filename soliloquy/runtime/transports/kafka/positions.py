"""Positions in partitions, the partition that a consumer holds, and metrics of its batches."""

import base64
import binascii
import time
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field

from aiokafka.structs import OffsetAndMetadata
from faststream import ContextRepo
from faststream.kafka import KafkaResponse
from faststream.kafka.prometheus import KafkaPrometheusMiddleware
from faststream.message import StreamMessage
from prometheus_client import REGISTRY

from soliloquy.runtime.events import Event
from soliloquy.runtime.transports.kafka.records import Record
from soliloquy.runtime.transports.port import Delivery, Watermark

# Brokers reject more (`offset.metadata.max.bytes`).
MAX_CHARACTERS = 4096
_MARK = "ahead:"


def position_of(watermark: Watermark) -> OffsetAndMetadata:
    following = watermark.position + 1
    return OffsetAndMetadata(following, encoded(following, watermark.ahead))


def usable(position: Watermark | None, begin: int, end: int) -> Watermark:
    """Returns the position, or the beginning if Kafka deleted what follows it.

    A position beyond the end belongs to a deleted topic of the same name.
    """
    return position if position and begin - 1 <= position.position < end else Watermark(begin - 1)


def encoded(next_offset: int, ahead: Collection[int]) -> str:
    """Encodes the offsets as a bitmap from `next_offset` on; drops the highest ones that do not fit."""
    known = sorted(ahead)
    while known:
        bits = bytearray((known[-1] - next_offset) // 8 + 1)
        for offset in known:
            place = offset - next_offset
            bits[place // 8] |= 1 << place % 8
        text = _MARK + base64.b85encode(zlib.compress(bytes(bits))).decode("ascii")
        if len(text) <= MAX_CHARACTERS:
            return text
        known = known[: len(known) // 2]
    return ""


def decoded(next_offset: int, metadata: str) -> set[int]:
    """Decodes the offsets; empty if another program wrote the metadata."""
    if not metadata.startswith(_MARK):
        return set()
    try:
        bits = zlib.decompress(base64.b85decode(metadata.removeprefix(_MARK)))
    except (ValueError, binascii.Error, zlib.error):
        return set()
    return {next_offset + place for place in range(8 * len(bits)) if bits[place // 8] >> place % 8 & 1}


@dataclass(kw_only=True, slots=True)
class HeldPartition:
    watermark: Watermark
    # Records below were seen: a batch may have been in flight during the seek.
    next_offset: int
    # How often its topic had been made anew.
    generation: int
    # The offset to go on from, once the log turns out to be another or shorter than it was.
    restart_at: int | None = None
    # Whether the stage has accepted the partition.
    ready: bool = False
    waiting: deque[Delivery] = field(default_factory=deque)
    # When each open event was created, oldest first.
    made: dict[int, float] = field(default_factory=dict)
    moved_at: float = field(default_factory=time.time)
    paused: bool = False
    stopped: bool = False
    # Whether a retry partition is empty. Only this member fills it, or a fenced one in its last moments.
    empty: bool = False
    filled_at: float = 0.0

    @property
    def position(self) -> OffsetAndMetadata:
        """Returns the position to commit."""
        return position_of(self.watermark if self.restart_at is None else Watermark(self.restart_at - 1))


class BatchMetrics:
    """Calls FastStream's Prometheus middleware around each batch, as a broker of FastStream would."""

    def __init__(self) -> None:
        self._middleware = KafkaPrometheusMiddleware(registry=REGISTRY)
        self._context = ContextRepo()

    async def count_received(self, records: Sequence[Record], take: Callable[[Sequence[Record]], None]) -> None:
        async def call_next(_: object) -> None:
            take(records)

        message = StreamMessage(raw_message=tuple(records), body=[record.value or b"" for record in records])
        await self._middleware(records, context=self._context).consume_scope(call_next, message)

    async def count_published(
        self, topic: str, events: Sequence[Event], publish: Callable[[], Awaitable[None]]
    ) -> None:
        async def call_next(_: object) -> None:
            await publish()

        command = KafkaResponse(b"").as_publish_command()
        command.destination = topic
        command.batch_bodies = [event.payload for event in events]
        await self._middleware(None, context=self._context).publish_scope(call_next, command)
