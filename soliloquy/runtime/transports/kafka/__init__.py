"""The Kafka transport: how to connect, and how group members behave.

Importing this package does not import a Kafka client: see `open_transport`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from soliloquy.runtime.failure import Failure

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]


class KafkaUnavailable(Failure):
    """Kafka cannot be used; the message says why and what to do, in one line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaSettings:
    # HOST:PORT, or several separated by commas.
    bootstrap: str
    security: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    # If security is SASL_*.
    mechanism: Mechanism = "PLAIN"
    username: str = ""
    password: str = field(default="", repr=False)
    # With OAUTHBEARER, a file that holds a token and is renewed, or where the user and the password, as a client's id
    # and secret, get one.
    token_file: Path | None = None
    token_url: str = ""
    token_scope: str = ""
    # The CA that signed the brokers' certificates; None trusts the system's CAs.
    ca_file: Path | None = None
    # The client's certificate and key, for brokers that require one.
    certificate_file: Path | None = None
    key_file: Path | None = None
    # A name that survives restarts makes this process a static member: it regains its partitions without a rebalance.
    instance: str = ""
    # The prefix of all topics and groups, for several installations on one cluster.
    prefix: str = ""
    # A member that is silent for this long loses its partitions.
    session_seconds: float = 10.0
    # A member that does not poll for this long leaves its group. Slow handlers do not stop polling.
    poll_seconds: float = 300.0
    # How long a member may take to release its partitions.
    rebalance_seconds: float = 10.0

    @property
    def request_seconds(self) -> float:
        """A broker that has not answered by then counts as gone. Joining a group takes longest."""
        return self.rebalance_seconds + 5.0

    @property
    def options(self) -> str:
        """The options by which a command reaches these topics."""
        return f"--kafka {self.bootstrap}" + (f" --kafka-prefix {self.prefix}" if self.prefix else "")

    @property
    def tls(self) -> bool:
        return self.security in ("SSL", "SASL_SSL")

    @property
    def sasl(self) -> bool:
        return self.security in ("SASL_PLAINTEXT", "SASL_SSL")
