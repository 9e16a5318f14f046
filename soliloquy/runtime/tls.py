"""The certificates with which a client of gRPC knows its server, and is known to it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.regular_file import require_regular

if TYPE_CHECKING:
    import grpc


@dataclass(frozen=True, kw_only=True, slots=True)
class Tls:
    """PEM files: the server's certificate authority (None for the system's), and the client's certificate and key."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def credentials(self) -> "grpc.ChannelCredentials":
        # Imported here because processes that call nobody read these settings too.
        import grpc

        files = (self.ca, self.key or self.certificate, self.certificate)
        return grpc.ssl_channel_credentials(*(_content(file) if file else None for file in files))


def _content(file: Path) -> bytes:
    try:
        require_regular(file)
        return file.read_bytes()
    except OSError as error:
        raise Failure(f"cannot read {file} ({error.strerror or error}): name a PEM file") from error
