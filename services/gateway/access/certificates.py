"""The gateway's certificate, and the authority of its callers' certificates."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.regular_file import require_regular

if TYPE_CHECKING:
    import grpc


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerTls:
    certificate: Path
    key: Path
    # Callers need a certificate signed by this authority; None lets them call without one.
    client_ca: Path | None = None

    def for_http(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            for file in self._files:
                require_regular(file)
            context.load_cert_chain(self.certificate, self.key, password=_no_password)
            if self.client_ca:
                context.load_verify_locations(self.client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ValueError) as error:
            raise Failure(f"TLS cannot use {', '.join(map(str, self._files))} ({error})") from error
        return context

    def for_grpc(self) -> "grpc.ServerCredentials":
        # Imported here because processes that serve no gRPC read these settings too.
        import grpc

        # Checks the files first: gRPC reports unreadable files as a port that cannot be bound.
        self.for_http()
        pair = (self.key.read_bytes(), self.certificate.read_bytes())
        authority = self.client_ca.read_bytes() if self.client_ca else None
        return grpc.ssl_server_credentials([pair], authority, require_client_auth=authority is not None)

    @property
    def _files(self) -> list[Path]:
        return [path for path in (self.certificate, self.key, self.client_ca) if path]


def _no_password() -> bytes:
    """Refuses to prompt for a password."""
    raise ValueError("the key is encrypted: use a key without a password")


def common_name(certificate: Mapping[str, Any] | None) -> str:
    """The subject's common name in the result of `SSLSocket.getpeercert`; empty without one."""
    subject = (certificate or {}).get("subject", ())
    return next((str(value) for part in subject for name, value in part if name == "commonName"), "")
