"""Plans and applies the changes from a cluster's topics to the desired ones."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.topics import TOPICS, Shape, is_retry, origin, shapes
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.kafka.admin import Admin, ExistingTopic, admin

# Until every broker knows the changes and every partition has a leader.
SETTLE_SECONDS = 30.0
# A broker may not know yet what another was told a moment ago.
PATIENCE_SECONDS = 1.0
PAUSE_SECONDS = 0.1
_NAMED_AT_MOST = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    desired: Shape
    # None if the topic is missing.
    actual: ExistingTopic | None

    @property
    def action(self) -> str:
        if self.actual is None:
            return "create"
        return "grow" if self.grows else "configure"

    @property
    def grows(self) -> bool:
        return self.actual is not None and self.actual.partitions < self.desired.partitions

    @property
    def configures(self) -> bool:
        return self.actual is not None and not self.desired.configs.items() <= self.actual.configs.items()

    def differences(self) -> dict[str, tuple[str, str]]:
        """Returns actual and desired values by name; actual ones are empty for a missing topic."""
        before = _facts(self.actual) if self.actual else {}
        return {
            name: (before.get(name, ""), value)
            for name, value in _facts(self.desired).items()
            if before.get(name) != value
        }


async def plan(settings: KafkaSettings, *, replication: int | None = None, grow: bool = False) -> list[Change]:
    """Returns the changes that `apply` would make."""
    async with admin(settings) as cluster:
        return await _changes(cluster, shapes(replication), grow=grow)


async def apply(settings: KafkaSettings, *, replication: int | None = None, grow: bool = False) -> list[Change]:
    """Makes the changes and returns them. Concurrent calls are safe."""
    desired = shapes(replication)
    topics = {shape.topic for shape in desired}
    async with admin(settings) as cluster:
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
    await cluster.grow([change.desired for change in changes if change.grows])
    configs = {
        change.desired.topic: {**change.actual.own_configs, **change.desired.configs}
        for change in changes
        if change.actual and change.configures
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
            f"{_some(fewer)}: Kafka cannot take partitions away. Write the number there is into "
            "soliloquy/runtime/topics.toml, or delete the topic once nothing in it is needed"
        )
    if unlike := [
        f"{desired.topic} is kept {_times(actual.replication)}, not {_times(desired.replication)}"
        for desired, actual in there
        if actual.replication != desired.replication
    ]:
        raise Failure(
            f"{_some(unlike)}: use --replication with the number there is, "
            "or move the partitions with Kafka's own kafka-reassign-partitions.sh"
        )
    more = [_counts(desired, actual) for desired, actual in there if actual.partitions < desired.partitions]
    if more and not grow:
        raise Failure(
            f"{_some(more)}: among more partitions the next events of a key go elsewhere than those before, "
            "and may overtake them. Let every run end, then use --grow"
        )


def _times(copies: int) -> str:
    return "once" if copies == 1 else f"{copies} times"


def _counts(desired: Shape, actual: ExistingTopic) -> str:
    return f"{desired.topic} has {actual.partitions} partitions, not {desired.partitions}"


def _fault(topics: Sequence[str], partitions: Mapping[str, int], settings: KafkaSettings) -> str:
    """Returns why a group cannot work with these topics; empty if it can."""
    if missing := [topic for topic in topics if topic not in partitions]:
        are = "is" if len(missing) == 1 else "are"
        hidden = f", or kept from the user {settings.username!r}" if settings.sasl else ""
        return f"{_some(missing)} {are} missing{hidden}: run `soliloquy topics apply {settings.options}`"
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
    return f"still to change after {SETTLE_SECONDS:g} s: {_some([change.desired.topic for change in left])}"


def _facts(topic: Shape | ExistingTopic) -> dict[str, str]:
    return {"partitions": str(topic.partitions), "replication": str(topic.replication), **topic.configs}


def _some(sentences: Sequence[str]) -> str:
    more = len(sentences) - _NAMED_AT_MOST
    return ", ".join(sentences[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")
