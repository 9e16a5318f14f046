"""Brokers that demand encryption, certificates and passwords; every error is one line."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiokafka import errors

from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable, Mechanism
from soliloquy.runtime.transports.kafka.connection import described, reach
from tests.e2e.runs import SOLILOQUY, said
from tests.integration.kafka.reaching import refused, works
from tests.kafka.certificates import Authority
from tests.kafka.cluster import KafkaCluster
from tests.kafka.fixtures import started

pytestmark = pytest.mark.thorough

MECHANISMS: tuple[Mechanism, ...] = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaSettings]:
    with started(KafkaCluster(tmp_path_factory.mktemp("tls"), security="SSL", heap="256m")) as cluster:
        yield KafkaSettings(bootstrap=cluster.bootstrap, security="SSL", ca_file=cluster.ca_file)


@pytest.fixture(scope="module")
def mutual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaSettings]:
    with started(
        KafkaCluster(tmp_path_factory.mktemp("mtls"), security="SSL", client_auth=True, heap="256m")
    ) as cluster:
        yield KafkaSettings(
            bootstrap=cluster.bootstrap,
            security="SSL",
            ca_file=cluster.ca_file,
            certificate_file=cluster.client_certificate,
            key_file=cluster.client_key,
        )


@pytest.fixture(scope="module")
def in_the_clear(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaSettings]:
    with started(KafkaCluster(tmp_path_factory.mktemp("sasl"), security="SASL_PLAINTEXT", heap="256m")) as cluster:
        yield KafkaSettings(
            bootstrap=cluster.bootstrap,
            security="SASL_PLAINTEXT",
            username=cluster.username,
            password=cluster.password,
        )


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaSettings]:
    with started(KafkaCluster(tmp_path_factory.mktemp("sasl-tls"), security="SASL_SSL", heap="256m")) as cluster:
        yield KafkaSettings(
            bootstrap=cluster.bootstrap,
            security="SASL_SSL",
            username=cluster.username,
            password=cluster.password,
            ca_file=cluster.ca_file,
        )


@pytest.fixture(scope="module")
def strangers_ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Authority.founded(tmp_path_factory.mktemp("stranger")).own.certificate


async def test_tls(encrypted: KafkaSettings) -> None:
    await works(encrypted)


async def test_tls_with_a_client_certificate(mutual: KafkaSettings) -> None:
    await works(mutual)


async def test_a_password_in_the_clear(in_the_clear: KafkaSettings) -> None:
    await works(in_the_clear)


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_password_over_tls(guarded: KafkaSettings, mechanism: Mechanism) -> None:
    await works(replace(guarded, mechanism=mechanism))


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_wrong_password_is_said_with_the_name_of_the_user(guarded: KafkaSettings, mechanism: Mechanism) -> None:
    line = await refused(replace(guarded, mechanism=mechanism, password="wrong"))
    assert f"does not take the user {guarded.username!r} with this password" in line
    assert "wrong" not in line


async def test_an_authority_that_did_not_sign_is_not_trusted(encrypted: KafkaSettings, strangers_ca: Path) -> None:
    assert "not trusted" in (line := await refused(replace(encrypted, ca_file=strangers_ca)))
    assert "SOLILOQUY_KAFKA_CA_FILE" in line
    assert "SOLILOQUY_KAFKA_CA_FILE" in await refused(replace(encrypted, ca_file=None))


async def test_a_client_certificate_that_is_missing_is_asked_for(mutual: KafkaSettings) -> None:
    assert "SOLILOQUY_KAFKA_CERTIFICATE_FILE" in await refused(replace(mutual, certificate_file=None, key_file=None))


async def test_a_plain_client_of_a_tls_broker_is_told_so(encrypted: KafkaSettings, guarded: KafkaSettings) -> None:
    assert "speaks TLS: set SOLILOQUY_KAFKA_SECURITY=SSL" in await refused(KafkaSettings(bootstrap=encrypted.bootstrap))
    plain = replace(guarded, security="SASL_PLAINTEXT")
    assert "speaks TLS: set SOLILOQUY_KAFKA_SECURITY=SASL_SSL" in await refused(plain)


async def test_a_tls_client_of_a_plain_broker_is_told_so(kafka: str, in_the_clear: KafkaSettings) -> None:
    bootstrap = kafka.split(",")[0]
    assert "does not speak TLS: set SOLILOQUY_KAFKA_SECURITY=PLAINTEXT" in await refused(
        KafkaSettings(bootstrap=bootstrap, security="SSL")
    )
    assert "does not speak TLS: set SOLILOQUY_KAFKA_SECURITY=SASL_PLAINTEXT" in await refused(
        replace(in_the_clear, security="SASL_SSL")
    )


async def test_a_client_without_a_password_is_told_that_one_is_wanted(
    in_the_clear: KafkaSettings, guarded: KafkaSettings
) -> None:
    assert "wants a user name and a password" in await refused(KafkaSettings(bootstrap=in_the_clear.bootstrap))
    assert "wants a user name and a password" in await refused(replace(guarded, security="SSL"))


async def test_a_password_that_nobody_asks_for_is_said(encrypted: KafkaSettings) -> None:
    line = await refused(replace(encrypted, security="SASL_SSL", username="alice", password="secret"))
    assert "asks for no password: set SOLILOQUY_KAFKA_SECURITY=SSL" in line


async def test_one_broker_that_answers_is_enough(encrypted: KafkaSettings) -> None:
    await reach(replace(encrypted, bootstrap=f"127.0.0.1:1,{encrypted.bootstrap}"))


async def test_where_nothing_listens_every_address_is_named() -> None:
    with pytest.raises(KafkaUnavailable) as caught:
        await reach(KafkaSettings(bootstrap="127.0.0.1:1,localhost:2"))
    assert str(caught.value).count("refuses connections") == 2


async def test_a_host_name_that_does_not_exist_is_said() -> None:
    assert "host name that is not known" in await refused(KafkaSettings(bootstrap="kafka.invalid:9092"))


@pytest.fixture
async def silent() -> AsyncIterator[str]:
    """Accepts connections and never answers."""
    open_ones: set[asyncio.StreamWriter] = set()

    async def listen(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.add(writer)

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    yield f"{host}:{port}"
    for writer in open_ones:
        writer.close()
    server.close()


async def test_what_does_not_answer_is_given_up(silent: str) -> None:
    begun = time.monotonic()
    assert "does not answer in time" in await refused(KafkaSettings(bootstrap=silent))
    assert time.monotonic() - begun < 30


async def test_what_answers_but_is_no_kafka_is_said() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        assert "does not speak as a Kafka does" in await refused(KafkaSettings(bootstrap=f"{host}:{port}"))


@pytest.mark.parametrize(
    ("error", "complaint"),
    [
        (errors.NodeNotReadyError("node 2"), "check the brokers' advertised.listeners"),
        (errors.TopicAuthorizationFailedError("a.topic"), "does not allow the user 'alice' to do this (a.topic)"),
        (errors.UnknownTopicOrPartitionError(), "run `soliloquy topics apply --kafka k:9092`"),
        (ValueError("a thing\nnobody thought of"), "cannot be used: a thing nobody thought of"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_kafka_refuses_later_on_is_one_line_too(error: Exception, complaint: str) -> None:
    line = described(error, KafkaSettings(bootstrap="k:9092", security="SASL_SSL", username="alice"))
    assert line.startswith("k:9092 ")
    assert complaint in line


def test_the_command_says_it_in_one_line_and_never_the_password(guarded: KafkaSettings) -> None:
    login = {"SECURITY": "SASL_SSL", "USERNAME": guarded.username}
    trust = {"CA_FILE": str(guarded.ca_file)}

    def topics(variables: dict[str, str], *, password: str) -> tuple[int, str]:
        chosen = {**login, **variables, "PASSWORD": password}
        environment = {f"SOLILOQUY_KAFKA_{name}": value for name, value in chosen.items()}
        command = [SOLILOQUY, "topics", "apply", "--replication", "1", "--kafka", guarded.bootstrap]
        result = said(command, environment=environment)
        assert password not in result.stdout + result.stderr
        return result.returncode, result.stderr

    assert topics(trust, password=guarded.password) == (0, "")
    for variables, password, complaint in (
        (trust, "not-this-one", "with this password"),
        ({}, guarded.password, "SOLILOQUY_KAFKA_CA_FILE"),
        (
            {**trust, "SECURITY": "SASL_PLAINTEXT"},
            guarded.password,
            "SOLILOQUY_KAFKA_CA_FILE requires SOLILOQUY_KAFKA_SECURITY",
        ),
    ):
        status, line = topics(variables, password=password)
        assert status == 2
        assert complaint in line
        assert len(line.splitlines()) == 1
