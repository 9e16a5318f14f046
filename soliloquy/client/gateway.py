"""Connects to a gateway and turns its refusals into exceptions."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import grpc

from soliloquy.client.retries import RECONNECT_OPTIONS, pushback

_OPTIONS = (
    *RECONNECT_OPTIONS,
    # Detects a cut connection while nothing is sent. Servers close connections that ping more often than every 300 s.
    ("grpc.keepalive_time_ms", 310_000),
)


class NotFound(LookupError):
    """The gateway has no such run, conversation or dead letter."""


class PermissionDenied(PermissionError):
    """The token or the certificate does not permit the request."""


class InvalidRequest(ValueError):
    """The gateway cannot do what was requested; the message says what to change."""


_EXCEPTIONS: Mapping[grpc.StatusCode, type[Exception]] = {
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.UNAUTHENTICATED: PermissionDenied,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.ALREADY_EXISTS: InvalidRequest,
    grpc.StatusCode.FAILED_PRECONDITION: InvalidRequest,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tls:
    """PEM files: the gateway's certificate authority (None for the system's), and the client's certificate and key."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        files = (self.ca, self.key or self.certificate, self.certificate)
        return grpc.ssl_channel_credentials(*(file.read_bytes() if file else None for file in files))


def open_channel(address: str, tls: Tls | None) -> grpc.aio.Channel:
    if tls is None:
        return grpc.aio.insecure_channel(address, options=_OPTIONS)
    return grpc.aio.secure_channel(address, tls.credentials(), options=_OPTIONS)


def raise_refusal(error: grpc.aio.AioRpcError) -> None:
    """Returns if the call may be retried."""
    exception = _EXCEPTIONS.get(error.code())
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and not pushback(error):
        exception = InvalidRequest
    if exception is not None:
        raise exception(error.details()) from error
