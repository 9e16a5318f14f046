"""FastStream's `faststream_*` metrics for the batches that aiokafka fetches and publishes."""

from collections.abc import Awaitable, Callable, Sequence

from faststream import ContextRepo
from faststream.kafka import KafkaResponse
from faststream.kafka.prometheus import KafkaPrometheusMiddleware
from faststream.message import StreamMessage
from prometheus_client import REGISTRY

from soliloquy.runtime.events import Event
from soliloquy.runtime.transports.kafka.records import Record


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
