"""Connects to Kafka, and explains in one line why that fails."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition, errors
from aiokafka.conn import AIOKafkaConnection, collect_hosts
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.protocol.metadata import MetadataRequest

from soliloquy.runtime.files import require_regular
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable
from soliloquy.runtime.transports.kafka.tokens import NoToken, token_provider
from soliloquy.runtime.transports.port import Partition

REACH_SECONDS = 8.0
# How soon consumers learn of a new leader after a broker fell silent, and of a topic that is gone or back.
METADATA_MS = 3000
_NAMED_AT_MOST = 3
# A TLS record starts with its type where Kafka's protocol has a length; 21 is an alert.
_TLS_ALERT = 21
_LOG = logging.getLogger("aiokafka")
_levels: list[int] = []


@dataclass(frozen=True, slots=True)
class Names:
    """Maps our names of topics, partitions and groups to those in the cluster."""

    prefix: str

    def in_kafka(self, partition: Partition) -> TopicPartition:
        return TopicPartition(self.prefix + partition.topic, partition.number)

    def from_kafka(self, topic: str, number: int) -> Partition:
        return Partition(topic.removeprefix(self.prefix), number)

    def is_ours(self, name: str) -> bool:
        return name.startswith(self.prefix)


def client_options(settings: KafkaSettings) -> dict[str, Any]:
    """Returns the options that all clients of aiokafka share."""
    return {
        "bootstrap_servers": settings.bootstrap.split(","),
        "security_protocol": settings.security,
        "ssl_context": ssl_context(settings),
        "sasl_mechanism": settings.mechanism,
        "sasl_plain_username": settings.username,
        "sasl_plain_password": settings.password,
        "sasl_oauth_token_provider": token_provider(settings),
    }


def member(settings: KafkaSettings, group: str) -> AIOKafkaConsumer:
    """Returns a member of a group that has not joined it yet."""
    return AIOKafkaConsumer(
        **client_options(settings),
        request_timeout_ms=int(1000 * settings.request_seconds),
        group_id=settings.prefix + group,
        group_instance_id=f"{group}-{settings.instance}" if settings.instance else None,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        metadata_max_age_ms=METADATA_MS,
        # Assigns partitions of the same number together: a retry topic's with its original topic's.
        partition_assignment_strategy=[RangePartitionAssignor],
        session_timeout_ms=int(1000 * settings.session_seconds),
        heartbeat_interval_ms=int(1000 * settings.session_seconds / 5),
        max_poll_interval_ms=int(1000 * settings.poll_seconds),
        rebalance_timeout_ms=int(1000 * settings.rebalance_seconds),
    )


@asynccontextmanager
async def connecting(settings: KafkaSettings) -> AsyncIterator[None]:
    """Enters once Kafka accepts this client. Turns errors into KafkaUnavailable and silences aiokafka's log."""
    with _silence():
        await reach(settings)
        try:
            yield
        except (errors.KafkaError, OSError, TimeoutError) as error:
            raise KafkaUnavailable(described(error, settings)) from error


async def reach(settings: KafkaSettings) -> None:
    """Returns as soon as one of the addresses has accepted this client and answered."""
    options = client_options(settings)
    addresses = options.pop("bootstrap_servers")
    attempts = [asyncio.create_task(_attempt(settings, address, options)) for address in addresses]
    try:
        with _silence():
            faults = []
            for attempt in asyncio.as_completed(attempts):
                if (fault := await attempt) is None:
                    return
                faults.append(fault)
        raise KafkaUnavailable("; ".join(faults))
    finally:
        for task in attempts:
            task.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)


def described(error: BaseException, settings: KafkaSettings, address: str = "") -> str:
    """Explains a client's error and its remedy in one line."""
    where = address or settings.bootstrap
    # Errors on open connections come wrapped.
    opening = isinstance(error, OSError)
    for cause in reversed(list(_causes(error))):
        if known := _known(cause, settings, opening=opening):
            return f"{where} {known}"
    return f"{where} cannot be used: {' '.join(str(error).split()) or type(error).__name__}"


def missing(topics: Sequence[str], settings: KafkaSettings) -> str:
    are = "is" if len(topics) == 1 else "are"
    hidden = f", or kept from the user {settings.username!r}" if settings.sasl else ""
    return f"{some(topics)} {are} missing{hidden}: run `soliloquy topics apply {settings.options}`"


def some(phrases: Sequence[str]) -> str:
    """Lists the first phrases and counts the others."""
    more = len(phrases) - _NAMED_AT_MOST
    return ", ".join(phrases[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")


async def _attempt(settings: KafkaSettings, address: str, options: Mapping[str, Any]) -> str | None:
    """Returns what is wrong with an address, or None."""
    [(host, port, _)] = collect_hosts(address)
    try:
        async with asyncio.timeout(REACH_SECONDS):
            connection = AIOKafkaConnection(host, port, **options)
            try:
                await connection.connect()
                # A broker that wants a password answers the first request without one, and hangs up at the second.
                answer: Any = await connection.send(MetadataRequest([]))
                # aiokafka takes the refusal of a token for a success; the broker then answers with an empty response.
                if not answer.brokers:
                    raise errors.SaslAuthenticationFailed
            finally:
                connection.close()
    except (errors.KafkaError, OSError, TimeoutError) as error:
        return described(error, settings, address)
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        # It says itself what led to it.
        if isinstance(error, NoToken):
            return
        error = error.__cause__ or error.__context__


def _known(error: BaseException, settings: KafkaSettings, *, opening: bool) -> str:
    who = f"the user {settings.username!r}" if settings.sasl else "this client"
    bearer = settings.mechanism == "OAUTHBEARER"
    match error:
        case NoToken():
            return f"wants a token: {' '.join(map(str, error.args))}"
        case errors.SaslAuthenticationFailed() | asyncio.IncompleteReadError() if settings.sasl and bearer:
            return "does not take this token: is it expired, or for another audience or issuer than the brokers'?"
        case errors.SaslAuthenticationFailed():
            return f"does not take {who} with this password: check SOLILOQUY_KAFKA_USERNAME and the password"
        case errors.UnsupportedSaslMechanismError():
            return f"does not take passwords by {settings.mechanism}: choose another SOLILOQUY_KAFKA_MECHANISM"
        case errors.IllegalSaslStateError():
            return f"asks for no password: set SOLILOQUY_KAFKA_SECURITY={settings.security.removeprefix('SASL_')}"
        case ssl.SSLCertVerificationError():
            return (
                f"has a certificate that is not trusted ({error.verify_message.rstrip('.')}): "
                "name the authority that signed it in SOLILOQUY_KAFKA_CA_FILE"
            )
        case ssl.SSLError() if "ALERT" in (error.reason or "") and "CERTIFICATE" in (error.reason or ""):
            return (
                "asks for a client certificate that it trusts: "
                "name one in SOLILOQUY_KAFKA_CERTIFICATE_FILE and its key in SOLILOQUY_KAFKA_KEY_FILE"
            )
        case ssl.SSLError() | ConnectionResetError() | ConnectionAbortedError() if opening and settings.tls:
            security = settings.security.replace("SSL", "PLAINTEXT")
            return f"does not speak TLS: set SOLILOQUY_KAFKA_SECURITY={security}"
        case asyncio.IncompleteReadError() if (error.expected or 0) >> 24 == _TLS_ALERT:
            return f"speaks TLS: set SOLILOQUY_KAFKA_SECURITY={settings.security.replace('PLAINTEXT', 'SSL')}"
        case asyncio.IncompleteReadError() if error.partial:
            return "does not speak as a Kafka does: check --kafka"
        case asyncio.IncompleteReadError() if not settings.sasl:
            return "hung up: it is ending, or it wants a user name and a password (SOLILOQUY_KAFKA_SECURITY=SASL_SSL)"
        case errors.NodeNotReadyError():
            return "answers, but a broker that it names does not: check the brokers' advertised.listeners"
        case (
            errors.TopicAuthorizationFailedError()
            | errors.GroupAuthorizationFailedError()
            | errors.ClusterAuthorizationFailedError()
        ):
            return f"does not allow {who} to do this ({' '.join(map(str, error.args))}): grant it by an ACL"
        case errors.UnknownTopicOrPartitionError():
            topic = f"the topic {error.args[0]}" if error.args else "a topic"
            return f"lacks {topic}: run `soliloquy topics apply {settings.options}`"
        case socket.gaierror():
            return f"has a host name that is not known ({error.strerror}): check --kafka"
        case ConnectionRefusedError():
            return "refuses connections: is Kafka running there? Check --kafka"
        case TimeoutError() | errors.KafkaTimeoutError() | errors.RequestTimedOutError():
            return "does not answer in time: check --kafka, and what is between here and there"
        case OSError():
            return f"cannot be reached ({error.strerror or error}): check --kafka"
        case _:
            return ""


def ssl_context(settings: KafkaSettings) -> ssl.SSLContext | None:
    if not settings.tls:
        return None
    try:
        if settings.ca_file:
            require_regular(settings.ca_file)
        context = ssl.create_default_context(cafile=settings.ca_file)
    except OSError as error:
        raise KafkaUnavailable(f"{settings.ca_file} holds no certificate of an authority ({_reason(error)})") from error
    if settings.certificate_file is not None:
        try:
            for file in filter(None, (settings.certificate_file, settings.key_file)):
                require_regular(file)
            # The empty password keeps OpenSSL from prompting.
            context.load_cert_chain(settings.certificate_file, settings.key_file, password="")
        except OSError as error:
            files = " and ".join(str(file) for file in (settings.certificate_file, settings.key_file) if file)
            raise KafkaUnavailable(
                f"{files} are no certificate and its key, without a password on it, as PEM ({_reason(error)})"
            ) from error
    return context


def _reason(error: OSError) -> str:
    return (error.reason if isinstance(error, ssl.SSLError) else error.strerror) or str(error)


@contextmanager
def _silence() -> Iterator[None]:
    """Silences aiokafka's log while anybody is inside: the raised error says the same."""
    _levels.append(_LOG.level)
    _LOG.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        _LOG.setLevel(_levels.pop())
