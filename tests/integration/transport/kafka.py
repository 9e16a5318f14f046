"""Connects the contract's tests and their workers to Kafka; the address is BOOTSTRAP/PREFIX."""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic

from soliloquy.runtime.topics import DLQ, RETRY
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.transport import KafkaTransport
from tests.waiting import until

PARTITIONS = 4
TOPICS = ("conversation.started", "student.replied", "run.cancelled", "run.held", "run.standing", "service.described")


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


class Topics:
    """Deletes topics and makes them again."""

    def __init__(self, address: str, admin: AIOKafkaAdminClient) -> None:
        self.settings = settings(address)
        self._admin = admin

    async def delete(self, topic: str) -> None:
        await self._admin.delete_topics([self.settings.prefix + topic])
        await until(partial(self._is_gone, topic))

    async def make(self, topic: str) -> None:
        await self._admin.create_topics([NewTopic(self.settings.prefix + topic, PARTITIONS, 1)])

    async def grow(self, topic: str, partitions: int) -> None:
        await self._admin.create_partitions({self.settings.prefix + topic: NewPartitions(partitions)})

    async def _is_gone(self, topic: str) -> bool:
        return self.settings.prefix + topic not in await self._admin.list_topics()


@asynccontextmanager
async def changing_topics(address: str) -> AsyncIterator[Topics]:
    admin = AIOKafkaAdminClient(bootstrap_servers=settings(address).bootstrap)
    await admin.start()
    try:
        yield Topics(address, admin)
    finally:
        await admin.close()
