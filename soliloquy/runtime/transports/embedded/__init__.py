"""The laptop's transport: a durable log in one SQLite file, shared by the processes of one machine."""

from soliloquy.runtime.transports.embedded.log import LogUnavailable
from soliloquy.runtime.transports.embedded.transport import EmbeddedTransport

__all__ = ["EmbeddedTransport", "LogUnavailable"]
