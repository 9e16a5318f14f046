"""Whether settings reach the brokers, and in which line they are refused."""

import pytest

from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.kafka.layout import apply, check, plan
from soliloquy.runtime.transports.opening import open_transport
from tests.integration.transport.support import started

TOPIC = "conversation.started"


async def works(settings: KafkaSettings) -> None:
    """Applies the topics and sends an event through a transport."""
    await apply(settings, replication=1)
    assert await plan(settings, replication=1) == []
    await check(settings, [TOPIC])
    async with open_transport(settings) as transport:
        await transport.publish([started("first")])
        assert [delivery.event.key async for delivery in transport.read(TOPIC)][-1] == "first"


async def refused(settings: KafkaSettings) -> str:
    """Returns the line that says so."""
    with pytest.raises(KafkaUnavailable) as caught:
        await check(settings, [TOPIC])
    line = str(caught.value)
    assert line.startswith(settings.bootstrap)
    assert "\n" not in line
    return line
