"""The security that a cluster demands of its clients; its nodes trust each other."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.kafka.certificates import Authority, Certificate

# Everybody else may do what an ACL allows. The nodes have no name on their own listeners.
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:CN=soliloquy-test-client",
}
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *_SCRAM)
_MODULES = "org.apache.kafka.common.security"


@dataclass(frozen=True, kw_only=True, slots=True)
class Password:
    """A user whom every mechanism admits."""

    username: str = "soliloquy"
    password: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)

    def settings(self) -> dict[str, str]:
        scram = f"{_MODULES}.scram.ScramLoginModule required;"
        plain = f'{_MODULES}.plain.PlainLoginModule required user_{self.username}="{self.password}";'
        return {
            "listener.name.client.sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "listener.name.client.plain.sasl.jaas.config": plain,
            **{f"listener.name.client.{name.lower()}.sasl.jaas.config": scram for name in _SCRAM},
        }

    def format_options(self) -> list[str]:
        """Kafka stores SCRAM credentials in the cluster, so formatting includes them."""
        user = f"[name={self.username},password={self.password}]"
        return [word for mechanism in _SCRAM for word in ("--add-scram", f"{mechanism}={user}")]


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificates:
    authority: Authority
    client: Certificate
    _broker: Path

    @property
    def ca_file(self) -> Path:
        return self.authority.own.certificate

    @classmethod
    def made(cls, folder: Path, hosts: Iterable[str]) -> "Certificates":
        authority = Authority.founded(folder)
        names = ["DNS:localhost", *(f"IP:{host}" for host in hosts)]
        broker = authority.sign("broker", names)
        # Kafka expects key and certificate in one file.
        store = folder / "broker-store.pem"
        store.write_bytes(broker.key.read_bytes() + broker.certificate.read_bytes())
        return cls(authority=authority, client=authority.sign("client"), _broker=store)

    def settings(self, *, client_auth: bool) -> dict[str, str]:
        listener = "listener.name.client.ssl"
        return {
            f"{listener}.keystore.type": "PEM",
            f"{listener}.keystore.location": str(self._broker),
            f"{listener}.truststore.type": "PEM",
            f"{listener}.truststore.location": str(self.ca_file),
            f"{listener}.client.auth": "required" if client_auth else "none",
        }
