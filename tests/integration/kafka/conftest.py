"""The broker that the tests share, and topics of their own."""

import uuid
from collections.abc import AsyncIterator

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from soliloquy.runtime.topics import shapes
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply


@pytest.fixture
async def topics(kafka: str) -> AsyncIterator[KafkaSettings]:
    """A Kafka with all topics, under fresh names."""
    settings = KafkaSettings(bootstrap=kafka, prefix=f"test-{uuid.uuid4().hex[:8]}.")
    await apply(settings, replication=1)
    yield settings
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    try:
        # Every client fetches the metadata of all partitions.
        await admin.delete_topics([settings.prefix + shape.topic for shape in shapes()])
    finally:
        await admin.close()
