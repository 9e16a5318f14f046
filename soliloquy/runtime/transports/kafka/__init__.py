"""The Kafka transport. Importing this package does not import a Kafka client: see `open_transport`."""

from soliloquy.runtime.transports.kafka.settings import KafkaSettings, KafkaUnavailable

__all__ = ["KafkaSettings", "KafkaUnavailable"]
