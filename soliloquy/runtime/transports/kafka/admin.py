"""Reads and changes the topics of a cluster."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from aiokafka import errors
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from soliloquy.runtime.topics import Shape
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.connection import client_options, connecting

Answer = TypeVar("Answer")

REQUEST_SECONDS = 15.0
# The client may still pick a dead broker, until the others have noticed.
PATIENCE_SECONDS = 8.0
PAUSE_SECONDS = 0.1
# The source of a config that was set on the topic itself, by Kafka's protocol.
_OF_THE_TOPIC = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class ExistingTopic:
    """The actual state of a topic in Kafka."""

    partitions: int
    replication: int
    # Includes defaults.
    configs: Mapping[str, str]
    # Only the configs that are set on the topic.
    own_configs: Mapping[str, str]


class Admin:
    """Uses our topic names; the cluster's names start with the prefix."""

    def __init__(self, client: AIOKafkaAdminClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    async def brokers(self) -> int:
        return len((await _retry(self._client.describe_cluster))["brokers"])

    async def partitions(self) -> dict[str, int]:
        return {topic: len(rows) for topic, rows in (await self._rows()).items()}

    async def led(self, topics: Collection[str]) -> bool:
        """Whether every partition of these topics has a leader."""
        there = await self._rows()
        return all(row["leader"] >= 0 for topic in topics for row in there.get(topic, ()))

    async def find(self, topics: Collection[str]) -> dict[str, ExistingTopic]:
        """Returns the topics that exist."""
        there = {topic: rows for topic, rows in (await self._rows()).items() if topic in topics}
        if not there:
            return {}
        resources = [self._resource(topic) for topic in there]
        answers: list[Any] = await _retry(lambda: self._client.describe_configs(resources))
        found = {}
        for code, message, _, name, entries in answers[0].resources:
            if code == errors.UnknownTopicOrPartitionError.errno:
                # A broker may not know a topic yet that was just created.
                continue
            _raise_for(code, name, message)
            rows = there[name.removeprefix(self._prefix)]
            found[name.removeprefix(self._prefix)] = ExistingTopic(
                partitions=len(rows),
                replication=min(len(row["replicas"]) for row in rows),
                configs={name: value for name, value, *_ in entries},
                own_configs={name: value for name, value, _, source, *_ in entries if source == _OF_THE_TOPIC},
            )
        return found

    async def create(self, wanted: Sequence[Shape]) -> None:
        """Ignores topics that another client created first."""
        topics = [
            NewTopic(self._prefix + shape.topic, shape.partitions, shape.replication, topic_configs=dict(shape.configs))
            for shape in wanted
        ]
        response: Any = await _retry(lambda: self._client.create_topics(topics))
        for topic, code, message, *_ in response.topic_errors:
            if code != errors.TopicAlreadyExistsError.errno:
                _raise_for(code, topic, message)

    async def grow(self, wanted: Iterable[Shape]) -> None:
        """Ignores topics that another client grew first."""
        for shape in wanted:
            counts = {self._prefix + shape.topic: NewPartitions(shape.partitions)}
            try:
                await _retry(partial(self._client.create_partitions, counts))
            except errors.InvalidPartitionsError:
                continue

    async def configure(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        """Replaces all configs of a topic; omitted ones fall back to their defaults."""
        resources = [self._resource(topic, values) for topic, values in configs.items()]
        answers: list[Any] = await _retry(lambda: self._client.alter_configs(resources))
        for code, message, _, topic in answers[0].resources:
            _raise_for(code, topic, message)

    def _resource(self, topic: str, configs: Mapping[str, str] | None = None) -> ConfigResource:
        return ConfigResource(ConfigResourceType.TOPIC, self._prefix + topic, configs)

    async def _rows(self) -> dict[str, list[Any]]:
        """Returns the partitions of each topic."""
        # Ask for all topics: asking for a missing one by name can create it.
        return {
            row["topic"].removeprefix(self._prefix): row["partitions"]
            for row in await _retry(self._client.describe_topics)
            if row["topic"].startswith(self._prefix)
        }


@asynccontextmanager
async def admin(settings: KafkaSettings) -> AsyncIterator[Admin]:
    async with connecting(settings):
        client = AIOKafkaAdminClient(**client_options(settings), request_timeout_ms=int(1000 * REQUEST_SECONDS))
        try:
            await client.start()
            yield Admin(client, settings.prefix)
        finally:
            await client.close()


async def _retry(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Retries while the picked broker does not answer; every attempt picks one anew."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return await ask()
        except (errors.NodeNotReadyError, errors.KafkaConnectionError, errors.NotControllerError):
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(PAUSE_SECONDS)


def _raise_for(code: int, topic: str, message: str) -> None:
    if code:
        raise errors.for_code(code)(f"{topic}: {message}")
