"""The messages of events that are read and not handled: tables, notices that everyone follows, results."""

from collections.abc import AsyncGenerator, AsyncIterator

from google.protobuf.message import Message

from soliloquy.runtime import metrics
from soliloquy.runtime.events import Undecodable, message_of
from soliloquy.runtime.transports.port import Delivery


async def messages(deliveries: AsyncIterator[Delivery]) -> AsyncGenerator[tuple[Delivery, Message], None]:
    """What is no message of ours is passed over and counted: there is nobody here to give it up."""
    async for delivery in deliveries:
        try:
            message = message_of(delivery.event)
        except Undecodable:
            metrics.PASSED_OVER.labels(delivery.partition.topic).inc()
        else:
            yield delivery, message
