"""Kafka as a transport: FastStream on aiokafka."""

from typing import TYPE_CHECKING

from soliloquy.runtime.transports.kafka.settings import KafkaSettings, KafkaUnavailable

if TYPE_CHECKING:
    from soliloquy.runtime.transports.kafka.transport import KafkaTransport

__all__ = ["KafkaSettings", "KafkaUnavailable", "kafka_transport"]


def kafka_transport(settings: KafkaSettings) -> "KafkaTransport":
    """Only here, because FastStream takes longer to load than all the rest, and most commands never need it."""
    from soliloquy.runtime.transports.kafka.transport import KafkaTransport

    return KafkaTransport(settings)
