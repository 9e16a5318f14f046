"""Scales the chart's services with KEDA's operator and Kubernetes' autoscaler, by the lag of a real Kafka."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from soliloquy.runtime.topics import shapes
from soliloquy.runtime.transports.kafka import KafkaSettings, layout
from tests.cluster import operators
from tests.cluster.binaries import NotBuilt
from tests.cluster.control_plane import Cluster, until
from tests.cluster.release import SCALED, Release

pytestmark = pytest.mark.timeout(600)

TOPIC, SERVICE = "student.replied", "tutor"
[PARTITIONS] = [shape.partitions for shape in shapes() if shape.topic == TOPIC]
WAITING, PER_POD = 60, 10
# The autoscaler asks every 15 seconds.
PATIENCE_SECONDS = 240.0


@pytest.fixture(scope="module")
def scaler(cluster: Cluster) -> Iterator[None]:
    try:
        with operators.keda(cluster):
            yield
    except NotBuilt as error:
        pytest.fail(f"no KEDA: {error}", pytrace=False)


@pytest.fixture
async def prefix(kafka: str) -> str:
    """Lays out topics of this test's own."""
    prefix = "scaled."
    await layout.apply(KafkaSettings(bootstrap=kafka, prefix=prefix), replication=1, grow=False)
    return prefix


async def test_pods_follow_the_events_that_wait_in_kafka(
    cluster: Cluster, namespace: str, scaler: None, kafka: str, prefix: str
) -> None:
    """Also those of a partition from which the service has not committed anything yet."""
    lab = Release(cluster=cluster, namespace=namespace)
    lab.install(
        "--set=keda.enabled=true,keda.pollingSeconds=1,keda.cooldownSeconds=1",
        f"--set=kafka.bootstrap={kafka},kafka.prefix={prefix}",
        f"--set=defaults.lagThreshold={PER_POD},services.{SERVICE}.scaling.max=8",
    )
    until(lambda: assert_scaled_by_keda(lab))
    assert lab.replicas()[SERVICE] == 1

    await wait_in(kafka, prefix + TOPIC, WAITING)
    until(lambda: assert_pods(lab, WAITING // PER_POD), PATIENCE_SECONDS)

    async with member(kafka, prefix) as consumer:
        partitions = [TopicPartition(prefix + TOPIC, number) for number in range(PARTITIONS)]
        await consumer.commit(await consumer.end_offsets(partitions))
    until(lambda: assert_pods(lab, 1), PATIENCE_SECONDS)
    # KEDA takes its marks off its objects.
    lab.run("uninstall", "lab", "--wait")


def assert_scaled_by_keda(lab: Release) -> None:
    scaled = lab.cluster.items("scaledobjects", f"--namespace={lab.namespace}")
    told = {one["metadata"]["name"]: conditions(one) for one in scaled}
    assert len(told) == len(SCALED)
    assert all(each.get("Ready") == "True" for each in told.values()), told


def conditions(one: dict[str, Any]) -> dict[str, str]:
    return {each["type"]: each["status"] for each in one.get("status", {}).get("conditions", [])}


def assert_pods(lab: Release, count: int) -> None:
    assert lab.replicas()[SERVICE] == count


async def wait_in(kafka: str, topic: str, events: int) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=kafka)
    await producer.start()
    try:
        for number in range(events):
            await producer.send_and_wait(topic, b"waits", partition=number % PARTITIONS)
    finally:
        await producer.stop()


@asynccontextmanager
async def member(kafka: str, prefix: str) -> AsyncIterator[AIOKafkaConsumer]:
    """Yields a consumer that commits as the service does."""
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka, group_id=f"{prefix}{SERVICE}", enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign([TopicPartition(prefix + TOPIC, number) for number in range(PARTITIONS)])
        yield consumer
    finally:
        await consumer.stop()
