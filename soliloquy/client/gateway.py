"""How a gateway is reached, and what it refuses."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import grpc

from soliloquy.client.patience import pushback

_OPTIONS = (
    # A gateway that comes back is found at once: the pauses between tries are the client's own.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # A watcher of what does not change hears of a cut connection by that; servers end those that ask more often.
    ("grpc.keepalive_time_ms", 310_000),
)


class Unknown(LookupError):
    """The gateway has no such run, conversation or dead letter."""


class NotAllowed(PermissionError):
    """The token, or the certificate, does not do for this."""


class Refused(ValueError):
    """What was asked for cannot be done; the message says what to change."""


_MEANT: Mapping[grpc.StatusCode, type[Exception]] = {
    grpc.StatusCode.NOT_FOUND: Unknown,
    grpc.StatusCode.UNAUTHENTICATED: NotAllowed,
    grpc.StatusCode.PERMISSION_DENIED: NotAllowed,
    grpc.StatusCode.INVALID_ARGUMENT: Refused,
    grpc.StatusCode.ALREADY_EXISTS: Refused,
    grpc.StatusCode.FAILED_PRECONDITION: Refused,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tls:
    """PEM files: who signed the gateway's certificate (whom the system trusts, where none is named), and one's own."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        own = [
            file.read_bytes() if file else None for file in (self.ca, self.key or self.certificate, self.certificate)
        ]
        return grpc.ssl_channel_credentials(*own)


def channel_to(address: str, tls: Tls | None) -> grpc.aio.Channel:
    if tls is None:
        return grpc.aio.insecure_channel(address, options=_OPTIONS)
    return grpc.aio.secure_channel(address, tls.credentials(), options=_OPTIONS)


def raise_refusal(error: grpc.aio.AioRpcError) -> None:
    """Returns where the same may be asked again."""
    meant = _MEANT.get(error.code())
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and not pushback(error):
        meant = Refused
    if meant is not None:
        raise meant(error.details()) from error
