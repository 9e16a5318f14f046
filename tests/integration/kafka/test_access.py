"""Runs the services on a broker that checks access, each with exactly what the chart's KafkaUser gives it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError

from deploy.access_file import programs
from soliloquy.client import Dataset
from soliloquy.runs.assignment import SERVICES
from soliloquy.runtime.topics import shapes
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.connection import client_options
from soliloquy.runtime.transports.kafka.layout import apply
from soliloquy.runtime.transports.kafka.transport import REPLAYED
from tests.kafka.acls import grant
from tests.kafka.cluster import KafkaCluster
from tests.kafka.commands import running
from tests.kafka.fixtures import started
from tests.unit.chart.objects import RETRAINED, TRAINED, kinds, objects

pytestmark = pytest.mark.thorough

PREFIX = "lab."
PROGRAMS = sorted(programs())
ANY_PORT = ("--http", "127.0.0.1:0")


@dataclass(frozen=True, kw_only=True)
class Guarded:
    admin: KafkaSettings
    # By the chart's component.
    users: Mapping[str, KafkaSettings]


def users() -> dict[str, list[dict[str, Any]]]:
    """Returns the ACLs of every KafkaUser that the chart can make, by component."""
    strimzi = {name: {"enabled": True} for name in ("kafka", "topics", "user")}
    kafka = {"bootstrap": "", "prefix": PREFIX}
    found = objects({"kafka": kafka, "strimzi": strimzi, "keda": {"enabled": True}}, TRAINED, RETRAINED)
    return {name: user["spec"]["authorization"]["acls"] for name, user in kinds(found, "KafkaUser").items()}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    folder = tmp_path_factory.mktemp("guarded")
    with started(KafkaCluster(folder, security="SSL", client_auth=True, authorizer=True)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def guarded(cluster: KafkaCluster) -> Guarded:
    admin = KafkaSettings(
        bootstrap=cluster.bootstrap,
        security="SSL",
        ca_file=cluster.ca_file,
        certificate_file=cluster.client_certificate,
        key_file=cluster.client_key,
        prefix=PREFIX,
    )
    granted = users()
    assert sorted(granted) == PROGRAMS
    asyncio.run(apply(admin, replication=1))
    asyncio.run(grant(admin, granted))
    own = {name: cluster.certificate(name) for name in granted}
    return Guarded(
        admin=admin,
        users={
            name: replace(admin, certificate_file=each.certificate, key_file=each.key) for name, each in own.items()
        },
    )


async def test_a_run_finishes_with_what_each_program_is_given(guarded: Guarded, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        for name in SERVICES:
            own = ("--data", tmp_path / "data") if name == "collector" else ()
            service = running("service", name, *ANY_PORT, *own, kafka=guarded.users[name])
            await (await stack.enter_async_context(service)).address(name)
        wanted = ("--problems", "physics", "--conversations", "3", "--enrich", "--out", tmp_path / "out")
        async with running("generate", *wanted, kafka=guarded.users["test"]) as command:
            status, complaints = await command.ended()
    assert (status, len(list(Dataset(tmp_path / "out")))) == (0, 3), complaints


@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_program_is_refused_what_is_not_its_own(guarded: Guarded, program: str) -> None:
    rights, settings = programs()[program], guarded.users[program]
    topics = [shape.topic for shape in shapes()]
    foreign = [topic for topic in topics if topic not in rights.get("read", ())]
    assert await _refused(_read, settings, foreign) == foreign
    foreign = [topic for topic in topics if topic not in rights.get("write", ())]
    assert await _refused(_write, settings, foreign) == foreign
    foreign = [group for group in (*SERVICES, REPLAYED) if group not in rights.get("member", ())]
    assert await _refused(_commit, settings, foreign) == foreign


async def _refused(
    act: Callable[[KafkaSettings, str], Awaitable[None]], by: KafkaSettings, names: list[str]
) -> list[str]:
    """Returns the names for which Kafka refuses the act as not allowed."""
    tried = await asyncio.gather(*(act(by, by.prefix + name) for name in names), return_exceptions=True)
    refusals = (TopicAuthorizationFailedError, GroupAuthorizationFailedError)
    return [name for name, fault in zip(names, tried, strict=True) if isinstance(fault, refusals)]


async def _read(settings: KafkaSettings, topic: str) -> None:
    async with AIOKafkaConsumer(**client_options(settings)) as consumer:
        # A consumer goes on asking for a topic that it is not even told of.
        await consumer._client.set_topics([topic])
        if topic in consumer._client.cluster.unauthorized_topics:
            raise TopicAuthorizationFailedError(topic)
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        consumer.seek(place, 0)
        await asyncio.wait_for(consumer.getone(), 30)


async def _write(settings: KafkaSettings, topic: str) -> None:
    async with AIOKafkaProducer(**client_options(settings)) as producer:
        await producer.send_and_wait(topic, b"")


async def _commit(settings: KafkaSettings, group: str) -> None:
    consumer = AIOKafkaConsumer(**client_options(settings), group_id=group, enable_auto_commit=False)
    async with consumer:
        place = TopicPartition(f"{settings.prefix}run.cancelled", 0)
        consumer.assign([place])
        await consumer.commit({place: 0})
