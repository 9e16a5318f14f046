"""The certificates with which our servers and clients know each other, and what to do when they do not."""

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import require_regular

if TYPE_CHECKING:
    import grpc

# gRPC's words about a server that the client turns away, from the most to the least specific.
_ADVICE = {
    "Hostname Verification": ": call it by a name that its certificate has",
    "certificate has expired": ": renew the server's certificate",
    "CERTIFICATE_VERIFY_FAILED": ": name the authority that signed the server's certificate",
    "WRONG_VERSION_NUMBER": ": the server speaks no TLS, so call it without TLS",
}
# A server that turns the client away only closes the connection.
_CLOSED = ("Socket closed", "Connection reset", "TSI_DATA_CORRUPTED")
_CLOSED_ADVICE = {
    "plain": ": if the server speaks TLS, call it with TLS",
    "anonymous": ": if the server requires a client's certificate, name one that its client authority signed",
    "named": ": check that the server's client authority signed the client's certificate for a client, and its dates",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tls:
    """PEM files: the server's certificate authority (None for the system's), and the client's certificate and key."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def credentials(self) -> "grpc.ChannelCredentials":
        # Imported here because processes that call nobody read these settings too.
        import grpc

        # Checks the files first: gRPC reports files that do not fit as a server that cannot be reached.
        _load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), self.certificate, self.key, self.ca)
        files = (self.ca, self.key or self.certificate, self.certificate)
        return grpc.ssl_channel_credentials(*(file.read_bytes() if file else None for file in files))


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerTls:
    certificate: Path
    key: Path
    # Callers need a certificate signed by this authority; None lets them call without one.
    client_ca: Path | None = None

    def for_http(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        _load(context, self.certificate, self.key, self.client_ca)
        if self.client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def for_grpc(self) -> "grpc.ServerCredentials":
        # Imported here because processes that serve no gRPC read these settings too.
        import grpc

        # Checks the files first: gRPC reports unreadable files as a port that cannot be bound.
        self.for_http()
        pair = (self.key.read_bytes(), self.certificate.read_bytes())
        authority = self.client_ca.read_bytes() if self.client_ca else None
        return grpc.ssl_server_credentials([pair], authority, require_client_auth=authority is not None)


def open_channel(address: str, tls: Tls | None, options: Sequence[tuple[str, Any]] = ()) -> "grpc.aio.Channel":
    import grpc

    if tls is None:
        return grpc.aio.insecure_channel(address, options=options)
    return grpc.aio.secure_channel(address, tls.credentials(), options=options)


def handshake_advice(details: str, tls: Tls | None) -> str:
    """Returns ": " and what to do, if gRPC's details are of a connection that TLS may have kept from opening."""
    if not details.startswith("failed to connect"):
        return ""
    if any(words in details for words in _CLOSED):
        return _CLOSED_ADVICE["plain" if tls is None else "anonymous" if tls.certificate is None else "named"]
    return next((advice for words, advice in _ADVICE.items() if words in details), "")


def _load(context: ssl.SSLContext, certificate: Path | None, key: Path | None, ca: Path | None) -> None:
    files = [path for path in (certificate, key, ca) if path]
    try:
        for file in files:
            require_regular(file)
        if certificate:
            context.load_cert_chain(certificate, key, password=_no_password)
        if ca:
            context.load_verify_locations(ca)
    except (OSError, ValueError) as error:
        raise Failure(f"TLS cannot use {', '.join(map(str, files))} ({error})") from error


def _no_password() -> bytes:
    """Refuses to prompt for a password."""
    raise ValueError("the key is encrypted: use a key without a password")
