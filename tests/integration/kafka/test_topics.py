"""A cluster gets the desired topics, whatever it had before, and loses no data."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from soliloquy.runtime.events import MAX_EVENT_BYTES
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.topics import DLQ, RETRY, shapes
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.kafka.connection import client_options
from soliloquy.runtime.transports.kafka.layout import ExistingTopic, admin, apply, check, plan
from tests.e2e.runs import SOLILOQUY, said
from tests.waiting import until

STARTED, SUBMITTED = "conversation.started", "problem.submitted"
ALL = {shape.topic for shape in shapes()}
NOTHING = "nothing to do: every topic matches topics.toml\n"


class Operator:
    """Another person who creates and changes topics by hand."""

    def __init__(self, client: AIOKafkaAdminClient, settings: KafkaSettings) -> None:
        self._client = client
        self._settings = settings

    async def make(self, partitions: dict[str, int], configs: dict[str, str] | None = None) -> None:
        prefix = self._settings.prefix
        topics = [NewTopic(prefix + topic, count, 1, topic_configs=configs) for topic, count in partitions.items()]
        await self._client.create_topics(topics)
        await until(lambda: self.has(partitions))

    async def has(self, partitions: dict[str, int]) -> bool:
        return await there(self._settings) == partitions

    async def configure(self, topic: str, configs: dict[str, str]) -> None:
        name = self._settings.prefix + topic
        await self._client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs)])

        async def known() -> bool:
            return (await found(self._settings, topic)).own_configs == configs

        # The controller accepts the change, and the broker learns of it a little later.
        await until(known)

    async def delete_all(self) -> None:
        names = await self._client.list_topics()
        await self._client.delete_topics([name for name in names if name.startswith(self._settings.prefix)])


@pytest.fixture
def settings(kafka: str) -> KafkaSettings:
    return KafkaSettings(bootstrap=kafka, prefix=f"{uuid.uuid4().hex[:8]}.")


@pytest_asyncio.fixture
async def operator(settings: KafkaSettings) -> AsyncIterator[Operator]:
    client = AIOKafkaAdminClient(**client_options(settings))
    await client.start()
    operator = Operator(client, settings)
    yield operator
    await operator.delete_all()
    await client.close()


@pytest.fixture(scope="module")
def applied(kafka: str) -> Iterator[KafkaSettings]:
    """A cluster with every topic, for tests that leave it as it is."""
    settings = KafkaSettings(bootstrap=kafka, prefix=f"{uuid.uuid4().hex[:8]}.")
    changes = asyncio.run(apply(settings, replication=1))
    assert {(change.action, change.desired.topic) for change in changes} == {("create", topic) for topic in ALL}
    yield settings
    asyncio.run(removed(settings))


async def removed(settings: KafkaSettings) -> None:
    client = AIOKafkaAdminClient(**client_options(settings))
    await client.start()
    await Operator(client, settings).delete_all()
    await client.close()


async def there(settings: KafkaSettings) -> dict[str, int]:
    async with admin(settings) as cluster:
        return await cluster.partitions()


async def found(settings: KafkaSettings, topic: str) -> ExistingTopic:
    async with admin(settings) as cluster:
        return (await cluster.find({topic}))[topic]


async def brokers(settings: KafkaSettings) -> int:
    async with admin(settings) as cluster:
        return await cluster.brokers()


async def test_an_empty_cluster_gets_every_topic_and_then_there_is_nothing_to_do(applied: KafkaSettings) -> None:
    assert await there(applied) == {shape.topic: shape.partitions for shape in shapes()}
    assert await plan(applied, replication=1) == []
    assert await apply(applied, replication=1) == []
    await check(applied, sorted(ALL))


@pytest.mark.thorough
async def test_several_at_once_do_each_other_no_harm(settings: KafkaSettings, operator: Operator) -> None:
    await operator.make({STARTED: 2, STARTED + RETRY: 2}, {"retention.ms": "1000"})
    await asyncio.gather(*(apply(settings, replication=1, grow=True) for _ in range(3)))
    assert await plan(settings, replication=1) == []


async def test_an_applied_topic_takes_the_largest_event(applied: KafkaSettings) -> None:
    options = client_options(applied)
    async with AIOKafkaProducer(**options, acks="all", max_request_size=2 * MAX_EVENT_BYTES) as producer:
        for topic in (STARTED, STARTED + RETRY, STARTED + DLQ):
            value, headers = bytes(MAX_EVENT_BYTES), [("error", bytes(8_000))]
            sent = await producer.send_and_wait(applied.prefix + topic, value, headers=headers)
            assert sent.offset == 0


async def test_partitions_are_never_taken_away(settings: KafkaSettings, operator: Operator) -> None:
    await operator.make({STARTED: 24})
    for attempt in (plan, apply):
        with pytest.raises(Failure, match=r"^conversation\.started has 24 partitions, not 12: .*--partitions"):
            await attempt(settings, replication=1, partitions=12, grow=True)
    assert await there(settings) == {STARTED: 24}
    await apply(settings, replication=1)
    assert await there(settings) == {shape.topic: shape.partitions for shape in shapes(partitions=24)}


async def test_topics_of_runs_grow_only_where_that_is_asked_for(settings: KafkaSettings, operator: Operator) -> None:
    await operator.make({SUBMITTED: 3, STARTED: 3})
    for attempt in (plan, apply):
        with pytest.raises(Failure, match=r"^problem\.submitted has 3 partitions, not 12: .*--grow"):
            await attempt(settings, replication=1)
    assert await there(settings) == {SUBMITTED: 3, STARTED: 3}
    await apply(settings, replication=1, partitions=16, grow=True)
    assert await there(settings) == {shape.topic: shape.partitions for shape in shapes(partitions=16)}


async def test_copies_are_left_as_they_are(applied: KafkaSettings) -> None:
    for attempt in (plan, apply):
        with pytest.raises(Failure, match=r"kept once, not 3 times.*--replication"):
            await attempt(applied)
    assert (await found(applied, STARTED)).replication == 1


async def test_too_few_brokers_are_said_before_anything_is_made(settings: KafkaSettings, operator: Operator) -> None:
    number = await brokers(settings)
    for attempt in (plan, apply):
        with pytest.raises(Failure, match=rf"^each topic needs {number + 1} copies .*--replication {number}$"):
            await attempt(settings, replication=number + 1)
    assert await there(settings) == {}


async def test_configs_are_set_back_and_others_on_the_topic_stay(settings: KafkaSettings, operator: Operator) -> None:
    await apply(settings, replication=1)
    await operator.configure(STARTED, {"retention.ms": "1000", "flush.messages": "7"})
    [change] = await apply(settings, replication=1)
    assert (change.action, change.desired.topic) == ("configure", STARTED)
    assert change.differences()["retention.ms"] == ("1000", "604800000")
    assert (await found(settings, STARTED)).own_configs == {**change.desired.configs, "flush.messages": "7"}


async def test_missing_topics_are_named_with_the_command_that_makes_them(
    settings: KafkaSettings, operator: Operator
) -> None:
    await operator.make({STARTED: 12})
    with pytest.raises(KafkaUnavailable) as caught:
        await check(settings, [STARTED, STARTED + RETRY, "tutor.replied"])
    assert str(caught.value) == (
        f"{settings.bootstrap}: conversation.started.retry, tutor.replied are missing: "
        f"run `soliloquy topics apply --kafka {settings.bootstrap} --kafka-prefix {settings.prefix}`"
    )


@pytest.mark.parametrize(
    ("partitions", "complaint"),
    [
        ({STARTED: 12, STARTED + RETRY: 4}, f"{STARTED}.retry has 4 partitions and {STARTED} has 12"),
        (
            {"problem.submitted": 12, "conversation.collected": 6},
            "problem.submitted has 12, conversation.collected has 6",
        ),
    ],
    ids=["a retry topic unlike its origin", "topics of a run unlike each other"],
)
async def test_partitions_that_would_lose_the_order_are_refused(
    settings: KafkaSettings, operator: Operator, partitions: dict[str, int], complaint: str
) -> None:
    await operator.make(partitions)
    with pytest.raises(KafkaUnavailable) as caught:
        await check(settings, list(partitions))
    assert complaint in str(caught.value)


async def test_the_command_plans_applies_and_has_nothing_left_to_do(
    settings: KafkaSettings, operator: Operator
) -> None:
    async def topics(action: str, *options: str) -> tuple[int, str]:
        reach = ["--kafka", settings.bootstrap, "--kafka-prefix", settings.prefix]
        result = await asyncio.to_thread(said, [SOLILOQUY, "topics", action, *reach, "--replication", "1", *options])
        assert result.stderr == ""
        return result.returncode, result.stdout

    await operator.make({STARTED: 12}, {"retention.ms": "1000"})
    status, printed = await topics("plan")
    assert status == 1
    assert f"{len(ALL)} changes to make" in printed
    [line] = [line for line in printed.splitlines() if STARTED + " " in line]
    assert line.startswith("configure")
    assert "retention.ms 1000 -> 604800000" in line
    status, printed = await topics("apply", "--json")
    assert status == 0
    changes = {change["topic"]: change for change in json.loads(printed)["changes"]}
    assert changes.keys() == ALL
    assert changes[STARTED]["before"]["retention.ms"] == "1000"
    assert changes[STARTED + DLQ]["after"]["partitions"] == "3"
    assert await topics("plan") == (0, NOTHING)
    assert await topics("apply") == (0, NOTHING)


async def test_what_the_command_cannot_do_is_one_line(settings: KafkaSettings, operator: Operator) -> None:
    copies = str(await brokers(settings) + 1)
    environment = {"SOLILOQUY_KAFKA": settings.bootstrap, "SOLILOQUY_KAFKA_PREFIX": settings.prefix}
    result = await asyncio.to_thread(
        said, [SOLILOQUY, "topics", "apply", "--replication", copies], environment=environment
    )
    assert (result.returncode, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith(f"soliloquy: each topic needs {copies} copies")
