"""Opens the transport that settings name."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.port import Transport


def open_transport(settings: KafkaSettings | Path) -> AbstractAsyncContextManager[Transport]:
    """Connects to Kafka or opens the embedded log; leaving the context closes it."""
    if isinstance(settings, Path):
        return EmbeddedTransport(settings)
    # Kafka's clients take longer to import than everything else, and most commands never need them.
    from soliloquy.runtime.transports.kafka.transport import KafkaTransport

    return KafkaTransport(settings)
