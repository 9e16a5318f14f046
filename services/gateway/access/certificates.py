"""What the gateway shows of itself over TLS, and whose certificates it takes for a caller's."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import grpc


class BadCertificates(ValueError):
    """TLS cannot be had with these files; the message names them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tls:
    certificate: Path
    key: Path
    # Callers need a certificate that it has signed; anybody may call without one where it is None.
    client_ca: Path | None = None

    def for_http(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key, password=_no_password)
            if self.client_ca:
                context.load_verify_locations(self.client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ValueError) as error:
            raise BadCertificates(f"TLS cannot be had with {self._named()} ({error})") from error
        return context

    def for_grpc(self) -> "grpc.ServerCredentials":
        # Only here: settings are read by processes that serve no gRPC.
        import grpc

        # It says of unreadable files only that the port cannot be had.
        self.for_http()
        pair = (self.key.read_bytes(), self.certificate.read_bytes())
        authority = self.client_ca.read_bytes() if self.client_ca else None
        return grpc.ssl_server_credentials([pair], authority, require_client_auth=authority is not None)

    def _named(self) -> str:
        return ", ".join(str(path) for path in (self.certificate, self.key, self.client_ca) if path)


def _no_password() -> bytes:
    """Nobody is there to type one."""
    raise ValueError("the key is encrypted: give it without a password")


def common_name(certificate: Mapping[str, Any] | None) -> str:
    """Of the subject of what `SSLSocket.getpeercert` tells; empty where there is none."""
    subject = (certificate or {}).get("subject", ())
    return next((str(value) for part in subject for name, value in part if name == "commonName"), "")
