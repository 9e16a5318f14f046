"""On Kafka too a share that shrinks holds conversations at a turn."""

import asyncio
import uuid
from pathlib import Path

import pytest

from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.layout import apply
from soliloquy.runtime.transports.opening import open_transport
from tests.e2e.preemption import check_held_conversations_end_as_they_would_have


@pytest.mark.timeout(600)
def test_conversations_held_on_kafka_end_as_they_would_have(kafka: str, tmp_path: Path) -> None:
    settings = KafkaSettings(bootstrap=kafka, prefix=f"preemption-{uuid.uuid4().hex[:8]}.")
    asyncio.run(apply(settings, replication=1))
    reach = ("--kafka", settings.bootstrap, "--kafka-prefix", settings.prefix, "--sandboxes", "1")
    victims = ("student-0", "curriculum-0")
    check_held_conversations_end_as_they_would_have(tmp_path, lambda: open_transport(settings), victims, *reach)
