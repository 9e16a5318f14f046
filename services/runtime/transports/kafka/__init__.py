"""Kafka as a transport: FastStream on aiokafka."""

from services.runtime.transports.kafka.connection import KafkaUnavailable
from services.runtime.transports.kafka.settings import KafkaSettings
from services.runtime.transports.kafka.transport import KafkaTransport

__all__ = ["KafkaSettings", "KafkaTransport", "KafkaUnavailable"]
