"""The laptop's transport: a durable log in one SQLite file, shared by the processes of one machine."""

from services.runtime.transports.embedded.log import LogUnavailable
from services.runtime.transports.embedded.transport import EmbeddedTransport

__all__ = ["EmbeddedTransport", "LogUnavailable"]
