"""Brokers that demand encryption, certificates and passwords; every error is one line."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

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


Brokers = Mapping[str, KafkaSettings]


@contextmanager
def broker(folder: Path, security: Any, *, client_auth: bool = False) -> Iterator[KafkaSettings]:
    with started(KafkaCluster(folder, security=security, client_auth=client_auth, heap="256m")) as cluster:
        settings = KafkaSettings(bootstrap=cluster.bootstrap, security=security)
        if settings.sasl:
            settings = replace(settings, username=cluster.username, password=cluster.password)
        if settings.tls:
            settings = replace(settings, ca_file=cluster.ca_file)
        if client_auth:
            own: dict[str, Any] = {"certificate_file": cluster.client_certificate, "key_file": cluster.client_key}
            settings = replace(settings, **own)
        yield settings


@pytest.fixture(scope="module")
def brokers(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    with ExitStack() as stack:
        yield {
            "open": KafkaSettings(bootstrap=kafka.split(",")[0]),
            "encrypted": stack.enter_context(broker(tmp_path_factory.mktemp("tls"), "SSL")),
            "mutual": stack.enter_context(broker(tmp_path_factory.mktemp("mtls"), "SSL", client_auth=True)),
            "in the clear": stack.enter_context(broker(tmp_path_factory.mktemp("sasl"), "SASL_PLAINTEXT")),
            "guarded": stack.enter_context(broker(tmp_path_factory.mktemp("sasl-tls"), "SASL_SSL")),
        }


@pytest.mark.parametrize("name", ["encrypted", "mutual", "in the clear"])
async def test_brokers_of_each_kind_are_reached(brokers: Brokers, name: str) -> None:
    await works(brokers[name])


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_password_over_tls_is_taken_and_a_wrong_one_said_with_the_name_of_the_user(
    brokers: Brokers, mechanism: Mechanism
) -> None:
    guarded = replace(brokers["guarded"], mechanism=mechanism)
    await works(guarded)
    line = await refused(replace(guarded, password="wrong"))
    assert f"does not take the user {guarded.username!r} with this password" in line
    assert "wrong" not in line


@pytest.mark.parametrize(
    ("name", "changes", "complaint"),
    [
        ("encrypted", {"ca_file": None}, "SOLILOQUY_KAFKA_CA_FILE"),
        ("mutual", {"certificate_file": None, "key_file": None}, "SOLILOQUY_KAFKA_CERTIFICATE_FILE"),
        ("encrypted", {"security": "PLAINTEXT"}, "speaks TLS: set SOLILOQUY_KAFKA_SECURITY=SSL"),
        ("guarded", {"security": "SASL_PLAINTEXT"}, "speaks TLS: set SOLILOQUY_KAFKA_SECURITY=SASL_SSL"),
        ("open", {"security": "SSL"}, "does not speak TLS: set SOLILOQUY_KAFKA_SECURITY=PLAINTEXT"),
        ("in the clear", {"security": "SASL_SSL"}, "does not speak TLS: set SOLILOQUY_KAFKA_SECURITY=SASL_PLAINTEXT"),
        ("in the clear", {"security": "PLAINTEXT"}, "wants a user name and a password"),
        ("guarded", {"security": "SSL"}, "wants a user name and a password"),
        (
            "encrypted",
            {"security": "SASL_SSL", "username": "alice", "password": "secret"},
            "asks for no password: set SOLILOQUY_KAFKA_SECURITY=SSL",
        ),
        ("open", {"bootstrap": "kafka.invalid:9092"}, "host name that is not known"),
    ],
)
async def test_what_a_client_lacks_or_has_too_much_of_is_said(
    brokers: Brokers, name: str, changes: dict[str, Any], complaint: str
) -> None:
    assert complaint in await refused(replace(brokers[name], **changes))


async def test_an_authority_that_did_not_sign_is_not_trusted(brokers: Brokers, tmp_path: Path) -> None:
    line = await refused(replace(brokers["encrypted"], ca_file=Authority.founded(tmp_path).own.certificate))
    assert "not trusted" in line
    assert "SOLILOQUY_KAFKA_CA_FILE" in line


async def test_one_broker_that_answers_is_enough(brokers: Brokers) -> None:
    await reach(replace(brokers["encrypted"], bootstrap=f"127.0.0.1:1,{brokers['encrypted'].bootstrap}"))


async def test_where_nothing_listens_every_address_is_named() -> None:
    with pytest.raises(KafkaUnavailable) as caught:
        await reach(KafkaSettings(bootstrap="127.0.0.1:1,localhost:2"))
    assert str(caught.value).count("refuses connections") == 2


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


def test_the_command_says_it_in_one_line_and_never_the_password(brokers: Brokers) -> None:
    guarded = brokers["guarded"]
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
