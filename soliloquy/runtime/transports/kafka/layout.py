"""Reads the topics of a cluster, and plans and applies the changes to the desired ones."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from aiokafka import errors
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.topics import TOPICS, Shape, is_retry, is_spread, origin, shapes
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.kafka.connection import client_options, connecting, missing, some

Answer = TypeVar("Answer")

REQUEST_SECONDS = 15.0
# The client may still pick a dead broker, until the others have noticed.
DEAD_BROKER_SECONDS = 8.0
# The source of a config that was set on the topic itself, by Kafka's protocol.
_OF_THE_TOPIC = 1
# Until every broker knows the changes and every partition has a leader.
SETTLE_SECONDS = 30.0
# A broker may not know yet what another was told a moment ago.
PATIENCE_SECONDS = 1.0
PAUSE_SECONDS = 0.1


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
        answers: list[Any] = await _retry(partial(self._client.describe_configs, resources))
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
        response: Any = await _retry(partial(self._client.create_topics, topics))
        for topic, code, message, *_ in response.topic_errors:
            if code != errors.TopicAlreadyExistsError.errno:
                _raise_for(code, topic, message)

    async def grow(self, wanted: Sequence[Shape]) -> None:
        """Ignores topics that another client grew first."""
        counts = {self._prefix + shape.topic: NewPartitions(shape.partitions) for shape in wanted}
        try:
            # Together, so that groups share out a topic and its retry topic alike.
            await _retry(partial(self._client.create_partitions, counts))
        except errors.InvalidPartitionsError:
            for shape in wanted if len(wanted) > 1 else ():
                await self.grow([shape])

    async def configure(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        """Replaces all configs of a topic; omitted ones fall back to their defaults."""
        resources = [self._resource(topic, values) for topic, values in configs.items()]
        answers: list[Any] = await _retry(partial(self._client.alter_configs, resources))
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
    deadline = time.monotonic() + DEAD_BROKER_SECONDS
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    desired: Shape
    # None if the topic is missing.
    actual: ExistingTopic | None

    @property
    def action(self) -> str:
        if self.actual is None:
            return "create"
        return "grow" if self.actual.partitions < self.desired.partitions else "configure"

    def differences(self) -> dict[str, tuple[str, str]]:
        """Returns actual and desired values by name; actual ones are empty for a missing topic."""
        before = _facts(self.actual) if self.actual else {}
        return {
            name: (before.get(name, ""), value)
            for name, value in _facts(self.desired).items()
            if before.get(name) != value
        }


async def plan(
    settings: KafkaSettings, *, replication: int | None = None, partitions: int | None = None, grow: bool = False
) -> list[Change]:
    """Returns the changes that `apply` would make."""
    async with admin(settings) as cluster:
        return await _changes(cluster, await _desired(cluster, replication, partitions), grow=grow)


async def apply(
    settings: KafkaSettings, *, replication: int | None = None, partitions: int | None = None, grow: bool = False
) -> list[Change]:
    """Makes the changes and returns them. Concurrent calls are safe."""
    async with admin(settings) as cluster:
        desired = await _desired(cluster, replication, partitions)
        topics = {shape.topic for shape in desired}
        changes = left = await _changes(cluster, desired, grow=grow)
        sent: list[Change] = []
        deadline = time.monotonic() + SETTLE_SECONDS
        while left or not await cluster.led(topics):
            if time.monotonic() > deadline:
                raise KafkaUnavailable(f"{settings.bootstrap}: {_unsettled(left)}: are all brokers up?")
            # Send each change once: it may be slow to show. Changes by others yield different ones.
            await _carry_out(cluster, [change for change in left if change not in sent])
            sent += left
            await asyncio.sleep(PAUSE_SECONDS)
            left = await _changes(cluster, desired, grow=grow)
    return changes


async def check(settings: KafkaSettings, topics: Sequence[str]) -> None:
    """Raises KafkaUnavailable if a group cannot work with its topics as they are."""
    async with admin(settings) as cluster:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while fault := _fault(topics, await cluster.partitions(), settings):
            if time.monotonic() > deadline:
                raise KafkaUnavailable(f"{settings.bootstrap}: {fault}")
            await asyncio.sleep(PAUSE_SECONDS)


async def _desired(cluster: Admin, replication: int | None, partitions: int | None) -> list[Shape]:
    """Leaves the number of partitions as large as it is, unless one is named."""
    desired, there = shapes(replication), await cluster.partitions()
    spread = [shape for shape in desired if is_spread(shape.topic)]
    most = max(count for shape in spread for count in (shape.partitions, there.get(shape.topic, 0)))
    return shapes(replication, partitions or most)


async def _changes(cluster: Admin, desired: Sequence[Shape], *, grow: bool) -> list[Change]:
    actual = await cluster.find({shape.topic for shape in desired})
    changes = [Change(desired=shape, actual=actual.get(shape.topic)) for shape in desired]
    if any(change.actual is None for change in changes):
        _refuse_too_few_brokers(await cluster.brokers(), desired[0].replication)
    _refuse_harm(changes, grow=grow)
    return [change for change in changes if change.differences()]


async def _carry_out(cluster: Admin, changes: Sequence[Change]) -> None:
    if missing := [change.desired for change in changes if change.actual is None]:
        await cluster.create(missing)
    if more := [change.desired for change in changes if change.action == "grow"]:
        await cluster.grow(more)
    configs = {
        change.desired.topic: {**change.actual.own_configs, **change.desired.configs}
        for change in changes
        if change.actual and not change.desired.configs.items() <= change.actual.configs.items()
    }
    if configs:
        await cluster.configure(configs)


def _refuse_too_few_brokers(brokers: int, copies: int) -> None:
    if copies > brokers:
        have = "one broker" if brokers == 1 else f"{brokers} brokers"
        raise Failure(
            f"each topic needs {copies} copies and this cluster has {have}: "
            f"start more of them, or use --replication {brokers}"
        )


def _refuse_harm(changes: Sequence[Change], *, grow: bool) -> None:
    there = [(change.desired, change.actual) for change in changes if change.actual]
    if fewer := [_counts(desired, actual) for desired, actual in there if actual.partitions > desired.partitions]:
        raise Failure(
            f"{some(fewer)}: Kafka cannot take partitions away. Use --partitions with the number there is, "
            "or delete the topic once nothing in it is needed"
        )
    if unlike := [
        f"{desired.topic} is kept {_times(actual.replication)}, not {_times(desired.replication)}"
        for desired, actual in there
        if actual.replication != desired.replication
    ]:
        raise Failure(
            f"{some(unlike)}: use --replication with the number there is, "
            "or move the partitions with Kafka's own kafka-reassign-partitions.sh"
        )
    more = [
        _counts(desired, actual)
        for desired, actual in there
        if actual.partitions < desired.partitions and not is_spread(desired.topic)
    ]
    if more and not grow:
        raise Failure(
            f"{some(more)}: among more partitions the next events of a run go elsewhere than those before, "
            "and may overtake them. Let every run end, then use --grow"
        )


def _times(copies: int) -> str:
    return "once" if copies == 1 else f"{copies} times"


def _counts(desired: Shape, actual: ExistingTopic) -> str:
    return f"{desired.topic} has {actual.partitions} partitions, not {desired.partitions}"


def _fault(topics: Sequence[str], partitions: Mapping[str, int], settings: KafkaSettings) -> str:
    """Returns why a group cannot work with these topics; empty if it can."""
    if unknown := [topic for topic in topics if topic not in partitions]:
        return missing(unknown, settings)
    for topic in topics:
        count, first = partitions[topic], origin(topic)
        if is_retry(topic) and count != partitions.get(first):
            return (
                f"{topic} has {count} partitions and {first} has {partitions.get(first, 0)}, "
                f"so that events would overtake others of their key: run `soliloquy topics plan {settings.options}`"
            )
    of_runs = {topic: partitions[topic] for topic in topics if topic in TOPICS and TOPICS[topic].key == "run"}
    if len(set(of_runs.values())) > 1:
        counts = ", ".join(f"{topic} has {count}" for topic, count in of_runs.items())
        return (
            f"{counts} partitions, so that no member would have all of a run: "
            f"run `soliloquy topics plan {settings.options}`"
        )
    return ""


def _unsettled(left: Sequence[Change]) -> str:
    if not left:
        return f"some partitions have no leader after {SETTLE_SECONDS:g} s"
    return f"still to change after {SETTLE_SECONDS:g} s: {some([change.desired.topic for change in left])}"


def _facts(topic: Shape | ExistingTopic) -> dict[str, str]:
    return {"partitions": str(topic.partitions), "replication": str(topic.replication), **topic.configs}
