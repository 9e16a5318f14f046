"""Checks the test cluster: it keeps acknowledged records, survives a node, authenticates, and cleans up."""

import asyncio
import itertools
import logging
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaConnectionError
from aiokafka.helpers import create_ssl_context

from tests.e2e.runs import alive, wait_for_end
from tests.kafka.cluster import KafkaCluster
from tests.kafka.fixtures import required, started
from tests.kafka.jars import KafkaUnavailable, class_path
from tests.kafka.node import KafkaFailed
from tests.kafka.security import MECHANISMS
from tests.waiting import until

ROOT = Path(__file__).parents[3]
# A dead node's session, plus some slack for a busy machine.
NOTICED_SECONDS = 20.0
# A request that an isolated node never answers must go to another node.
PATIENCE: dict[str, Any] = {"request_timeout_ms": 4000}


@asynccontextmanager
async def administering(bootstrap: str, **security: Any) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, **PATIENCE, **security)
    try:
        await admin.start()
        yield admin
    finally:
        await admin.close()


@asynccontextmanager
async def topic(bootstrap: str, copies: int = 1, **security: Any) -> AsyncIterator[str]:
    name = f"cluster-test-{secrets.token_hex(4)}"
    async with administering(bootstrap, **security) as admin:
        await admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=copies)])
        try:
            yield name
        finally:
            await admin.delete_topics([name])


@asynccontextmanager
async def producing(bootstrap: str, **security: Any) -> AsyncIterator[AIOKafkaProducer]:
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        acks="all",
        enable_idempotence=True,
        compression_type="lz4",
        **PATIENCE,
        **security,
    ) as producer:
        yield producer


async def produce(producer: AIOKafkaProducer, topic: str, ordinals: Sequence[int]) -> None:
    """Returns when all records are acknowledged."""
    sent = [await producer.send(topic, b"%d" % ordinal) for ordinal in ordinals]
    await asyncio.gather(*sent)


async def consumed(bootstrap: str, topic: str, count: int, **security: Any) -> list[int]:
    async with (
        asyncio.timeout(NOTICED_SECONDS),
        AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", **security) as consumer,
    ):
        return [int((await consumer.getone()).value or b"") for _ in range(count)]


async def round_trip(bootstrap: str, **security: Any) -> None:
    async with topic(bootstrap, **security) as name, producing(bootstrap, **security) as producer:
        await produce(producer, name, range(20))
        assert await consumed(bootstrap, name, 20, **security) == list(range(20))


async def leader(bootstrap: str, topic: str) -> tuple[int, set[int]]:
    """Returns the leader of the only partition, and its in-sync replicas."""
    async with administering(bootstrap) as admin:
        (described,) = await admin.describe_topics([topic])
    (partition,) = described["partitions"]
    return partition["leader"], set(partition["isr"])


async def until_all_have_it(cluster: KafkaCluster, topic: str) -> None:
    async def all_have_it() -> bool:
        return (await leader(cluster.bootstrap, topic))[1] == {1, 2, 3}

    await until(all_have_it)


async def test_records_come_back_in_order(kafka: str) -> None:
    await round_trip(kafka)


async def test_three_brokers_go_on_without_one_and_it_catches_up(tmp_path: Path) -> None:
    with started(KafkaCluster(tmp_path, brokers=3)) as cluster:
        async with topic(cluster.bootstrap, copies=3) as name, producing(cluster.bootstrap) as producer:
            await produce(producer, name, range(50))
            lost, _ = await leader(cluster.bootstrap, name)
            pids = cluster.pids
            cluster.kill(lost)
            async with asyncio.timeout(NOTICED_SECONDS):
                await produce(producer, name, range(50, 100))
            assert await consumed(cluster.bootstrap, name, 100) == list(range(100))
            await asyncio.to_thread(cluster.start_node, lost)
            await until_all_have_it(cluster, name)
    assert not any(alive(pid) for pid in (*pids.values(), *cluster.pids.values()))


async def test_a_node_that_is_cut_off_runs_on_and_catches_up_when_mended(tmp_path: Path) -> None:
    with started(KafkaCluster(tmp_path, brokers=3, namespaces=True)) as cluster:
        network = next(line for line in routes() if "kafka-test-" in line)
        async with topic(cluster.bootstrap, copies=3) as name, producing(cluster.bootstrap) as producer:
            await produce(producer, name, range(50))
            lost, _ = await leader(cluster.bootstrap, name)
            others = {1, 2, 3} - {lost}
            pids = cluster.pids
            cluster.cut(lost)
            await until(lambda: all(cluster.alive(node) == others for node in others))
            async with asyncio.timeout(NOTICED_SECONDS):
                await produce(producer, name, range(50, 100))
            assert cluster.alive(lost) == frozenset()
            assert cluster.pids == pids
            cluster.mend(lost)
            await until_all_have_it(cluster, name)
            assert await consumed(cluster.bootstrap, name, 100) == list(range(100))
    assert network not in routes()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Runs a broker that requires a password over TLS."""
    with started(KafkaCluster(tmp_path_factory.mktemp("guarded"), security="SASL_SSL")) as cluster:
        yield cluster


def with_password(cluster: KafkaCluster, mechanism: str, password: str) -> dict[str, Any]:
    return {
        "security_protocol": "SASL_SSL",
        "ssl_context": create_ssl_context(cafile=str(cluster.ca_file)),
        "sasl_mechanism": mechanism,
        "sasl_plain_username": cluster.username,
        "sasl_plain_password": password,
    }


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_the_right_password_is_admitted_and_a_wrong_one_refused(
    guarded: KafkaCluster, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="aiokafka")
    await round_trip(guarded.bootstrap, **with_password(guarded, mechanism, guarded.password))
    await assert_refused(guarded, **with_password(guarded, mechanism, "wrong"))
    assert "Authentication failed" in caplog.text


async def test_a_killed_node_has_what_it_acknowledged_when_it_is_back(guarded: KafkaCluster) -> None:
    bootstrap, security = guarded.bootstrap, with_password(guarded, "SCRAM-SHA-512", guarded.password)
    async with topic(bootstrap, **security) as name, producing(bootstrap, **security) as producer:
        await produce(producer, name, range(100))
        guarded.kill(1)
        assert guarded.pids == {}
        await asyncio.to_thread(guarded.start_node, 1)
        await produce(producer, name, range(100, 120))
        assert await consumed(bootstrap, name, 120, **security) == list(range(120))


async def test_a_client_does_not_trust_a_broker_of_another_authority(
    guarded: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="aiokafka")
    suspicious = with_password(guarded, "PLAIN", guarded.password) | {"ssl_context": ssl.create_default_context()}
    await assert_refused(guarded, **suspicious)
    assert "certificate verify failed" in caplog.text


async def test_a_client_without_a_certificate_is_refused_where_one_is_asked_for(tmp_path: Path) -> None:
    with started(KafkaCluster(tmp_path, security="SSL", client_auth=True)) as cluster:
        authority = str(cluster.ca_file)
        own = {"certfile": str(cluster.client_certificate), "keyfile": str(cluster.client_key)}
        known = create_ssl_context(cafile=authority, **own)
        await round_trip(cluster.bootstrap, security_protocol="SSL", ssl_context=known)
        await assert_refused(cluster, security_protocol="SSL", ssl_context=create_ssl_context(cafile=authority))


async def assert_refused(cluster: KafkaCluster, **security: Any) -> None:
    with pytest.raises(KafkaConnectionError, match="Unable to bootstrap"):
        async with administering(cluster.bootstrap, **security):
            pass


@pytest.fixture
def make_kafka() -> Iterator[subprocess.Popen[str]]:
    """Runs the command of `make kafka`; yields once its broker answers."""
    required()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.kafka", "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = list(itertools.takewhile(lambda line: "Kafka listens on" not in line, process.stderr))
        assert process.poll() is None, "".join(said)
        yield process
        process.kill()


def broker_of(process: subprocess.Popen[str]) -> int:
    (pid,) = (int(pid) for task in Path(f"/proc/{process.pid}/task").iterdir() for pid in children(task))
    return pid


def children(task: Path) -> list[str]:
    return (task / "children").read_text("utf-8").split()


def folder_of(broker: int) -> Path:
    return Path(Path(f"/proc/{broker}/cmdline").read_text("utf-8").split("\0")[-2]).parents[1]


def test_a_broker_ends_with_the_process_that_started_it_even_if_that_is_killed(
    make_kafka: subprocess.Popen[str],
) -> None:
    broker = broker_of(make_kafka)
    folder = folder_of(broker)
    make_kafka.kill()
    make_kafka.wait()
    wait_for_end([broker])
    shutil.rmtree(folder)


def test_ctrl_c_ends_the_broker_of_make_kafka_and_removes_its_data(make_kafka: subprocess.Popen[str]) -> None:
    broker = broker_of(make_kafka)
    folder = folder_of(broker)
    make_kafka.send_signal(signal.SIGINT)
    assert make_kafka.wait(20) == 0
    assert not alive(broker)
    assert not folder.exists()


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(KafkaFailed, match=f"port {port} is taken"):
            KafkaCluster(tmp_path, port=port).start()


def test_without_maven_nothing_is_cached_and_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KafkaUnavailable, match="mvn is missing"):
        class_path()
    assert [path.suffix for path in (tmp_path / "soliloquy").iterdir()] == [".lock"]


def test_tests_without_a_kafka_skip_but_fail_in_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="is missing"):
        required()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="is missing"):
        required()


def routes() -> list[str]:
    return Path("/proc/net/route").read_text("utf-8").splitlines()
