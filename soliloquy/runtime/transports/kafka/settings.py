"""How to reach a Kafka, and how a member of a group behaves there."""

from dataclasses import dataclass, field
from pathlib import Path


class KafkaUnavailable(Exception):
    """No work can be done with this Kafka; the message says why and what can be done, in one line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaSettings:
    # HOST:PORT, or several with commas between.
    bootstrap: str
    # PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
    security: str = "PLAINTEXT"
    # PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, where security is one of the SASL ones.
    mechanism: str = "PLAIN"
    username: str = ""
    password: str = field(default="", repr=False)
    # The authority that signed the brokers' certificates; the system's ones where it is None.
    ca_file: Path | None = None
    # This client's own certificate and key, for brokers that ask for one.
    certificate_file: Path | None = None
    key_file: Path | None = None
    # A name that stays over restarts makes this process a static member: its partitions come back without a rebalance.
    instance: str = ""
    # What the names of all topics and groups begin with, where several installations share a Kafka.
    prefix: str = ""
    # A member that was not heard of for so long is given up, and its partitions go to others.
    session_seconds: float = 10.0
    # A member that does not ask for events for so long leaves its group; a slow handler does not keep it from asking.
    poll_seconds: float = 300.0
    # How long a member may take to hand over its partitions.
    rebalance_seconds: float = 10.0

    @property
    def request_seconds(self) -> float:
        """A broker that has not answered by then is taken for gone; the longest question is when a group has joined."""
        return self.rebalance_seconds + 5.0

    @property
    def tls(self) -> bool:
        return self.security in ("SSL", "SASL_SSL")

    @property
    def sasl(self) -> bool:
        return self.security in ("SASL_PLAINTEXT", "SASL_SSL")
