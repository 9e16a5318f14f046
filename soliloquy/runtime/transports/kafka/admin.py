"""A cluster as its admin client sees it: the topics it has, and how they are made and altered."""

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
from soliloquy.runtime.transports.kafka.connection import client_options, connecting
from soliloquy.runtime.transports.kafka.settings import KafkaSettings

Answer = TypeVar("Answer")

REQUEST_SECONDS = 15.0
# A broker that has died is asked like any other until the rest have noticed.
PATIENCE_SECONDS = 8.0
PAUSE_SECONDS = 0.1
# Where a config comes from, by Kafka's protocol: it was set on the topic itself.
_OF_THE_TOPIC = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What a Kafka has of a topic."""

    partitions: int
    replication: int
    # Each with its default where nothing is set.
    configs: Mapping[str, str]
    # What is set on the topic itself.
    own_configs: Mapping[str, str]


class Admin:
    """Speaks of topics by our names; the cluster's begin with the prefix."""

    def __init__(self, client: AIOKafkaAdminClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    async def brokers(self) -> int:
        return len((await _patiently(self._client.describe_cluster))["brokers"])

    async def partitions(self) -> dict[str, int]:
        return {topic: len(rows) for topic, rows in (await self._rows()).items()}

    async def led(self, topics: Collection[str]) -> bool:
        """Whether every partition of these topics has a leader."""
        there = await self._rows()
        return all(row["leader"] >= 0 for topic in topics for row in there.get(topic, ()))

    async def find(self, topics: Collection[str]) -> dict[str, Found]:
        """Those of the topics that are there."""
        there = {topic: rows for topic, rows in (await self._rows()).items() if topic in topics}
        if not there:
            return {}
        resources = [self._resource(topic) for topic in there]
        answers: list[Any] = await _patiently(lambda: self._client.describe_configs(resources))
        found = {}
        for code, message, _, name, entries in answers[0].resources:
            if code == errors.UnknownTopicOrPartitionError.errno:
                # One that was just made, and this broker has not heard of it.
                continue
            _raise_for(code, name, message)
            rows = there[name.removeprefix(self._prefix)]
            found[name.removeprefix(self._prefix)] = Found(
                partitions=len(rows),
                replication=min(len(row["replicas"]) for row in rows),
                configs={name: value for name, value, *_ in entries},
                own_configs={name: value for name, value, _, source, *_ in entries if source == _OF_THE_TOPIC},
            )
        return found

    async def create(self, wanted: Sequence[Shape]) -> None:
        """Passes over topics that somebody else has made first."""
        topics = [
            NewTopic(self._prefix + shape.topic, shape.partitions, shape.replication, topic_configs=dict(shape.configs))
            for shape in wanted
        ]
        response: Any = await _patiently(lambda: self._client.create_topics(topics))
        for topic, code, message, *_ in response.topic_errors:
            if code != errors.TopicAlreadyExistsError.errno:
                _raise_for(code, topic, message)

    async def grow(self, wanted: Iterable[Shape]) -> None:
        """Passes over topics that somebody else has grown first."""
        for shape in wanted:
            counts = {self._prefix + shape.topic: NewPartitions(shape.partitions)}
            try:
                await _patiently(partial(self._client.create_partitions, counts))
            except errors.InvalidPartitionsError:
                continue

    async def configure(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        """Set all of a topic's own configs: what is left out falls back to its default."""
        resources = [self._resource(topic, values) for topic, values in configs.items()]
        answers: list[Any] = await _patiently(lambda: self._client.alter_configs(resources))
        for code, message, _, topic in answers[0].resources:
            _raise_for(code, topic, message)

    def _resource(self, topic: str, configs: Mapping[str, str] | None = None) -> ConfigResource:
        return ConfigResource(ConfigResourceType.TOPIC, self._prefix + topic, configs)

    async def _rows(self) -> dict[str, list[Any]]:
        """The partitions of each topic."""
        # Of all there are: asked for by its name, a missing one is made by brokers that make topics on demand.
        return {
            row["topic"].removeprefix(self._prefix): row["partitions"]
            for row in await _patiently(self._client.describe_topics)
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


async def _patiently(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Asks again where the broker that was asked does not answer; it is drawn anew each time."""
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
