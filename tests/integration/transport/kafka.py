"""Connects the contract's tests and their workers to Kafka; the address is BOOTSTRAP/PREFIX."""

import uuid
from collections.abc import Sequence

from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from soliloquy.runtime.topics import DLQ, RETRY
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.transport import KafkaTransport
from tests.waiting import until

PARTITIONS = 4
TOPICS = ("conversation.started", "student.replied", "run.cancelled", "run.standing")


def settings(address: str) -> KafkaSettings:
    bootstrap, prefix = address.split("/")
    return KafkaSettings(bootstrap=bootstrap, prefix=prefix, session_seconds=6.0)


def connect(address: str) -> KafkaTransport:
    return KafkaTransport(settings(address))


async def fresh_address(
    bootstrap: str, topics: Sequence[str] = TOPICS, *, replication: int = 1, prefix: str = ""
) -> str:
    """Creates empty topics, under fresh names unless a prefix is given."""
    prefix = prefix or f"test-{uuid.uuid4().hex[:8]}."
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        names = [f"{prefix}{topic}{suffix}" for topic in topics for suffix in ("", RETRY, DLQ)]
        await admin.create_topics([NewTopic(name, PARTITIONS, replication) for name in names])

        async def led() -> bool:
            found = await admin.describe_topics(names)
            return all(part["leader"] >= 0 for topic in found for part in topic["partitions"] or [{"leader": -1}])

        await until(led)
    finally:
        await admin.close()
    return f"{bootstrap}/{prefix}"
