"""The options for reaching a Kafka, the same for every command that uses one."""

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import click
from pydantic import TypeAdapter, ValidationError

from soliloquy.cli.command import gathered, option
from soliloquy.cli.options import BROKERS
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_regular_text
from soliloquy.runtime.transports.kafka import KafkaSettings

_PREFIX = "SOLILOQUY_KAFKA_"
PASSWORD_FILE = f"{_PREFIX}PASSWORD_FILE"
# How to log in does not change between commands, so that only the environment says it.
VARIABLES = {
    f"{_PREFIX}{field.name.upper()}": field.name
    for field in fields(KafkaSettings)
    if field.name not in ("bootstrap", "prefix")
}


def _prefix(_: click.Context, __: click.Parameter, prefix: str) -> str:
    if re.fullmatch(r"[\w.-]{0,64}", prefix, re.ASCII) is None:
        raise click.BadParameter(f"invalid prefix {prefix!r}: use letters, digits, '.', '_' and '-'")
    return prefix


_KAFKA = option(
    f"Brokers, one of which must be up. {_PREFIX}SECURITY, _USERNAME, _PASSWORD_FILE, _CA_FILE and others of "
    "docs/operating.md log in.",
    type=BROKERS,
    metavar="HOST:PORT[,HOST:PORT]...",
)
_TOPICS = "The prefix of all topics and groups, for installations that share a Kafka."


def _kafka(
    kafka: str | None = _KAFKA, kafka_prefix: str = option(_TOPICS, default="", callback=_prefix)
) -> KafkaSettings | None:
    return _settings(kafka, kafka_prefix) if kafka else None


def _required(kafka: KafkaSettings | None = gathered(_kafka)) -> KafkaSettings:
    if kafka is None:
        raise click.UsageError("--kafka HOST:PORT is required, or SOLILOQUY_KAFKA in the environment")
    return kafka


# None if no Kafka is named.
KAFKA, REQUIRED_KAFKA = gathered(_kafka), gathered(_required)


def _settings(bootstrap: str, prefix: str) -> KafkaSettings:
    chosen = {name: os.environ[variable] for variable, name in VARIABLES.items() if os.environ.get(variable)}
    if file := os.environ.get(PASSWORD_FILE):
        chosen["password"] = _password(Path(file))
    try:
        settings = TypeAdapter(KafkaSettings).validate_python({"bootstrap": bootstrap, "prefix": prefix, **chosen})
    except ValidationError as error:
        [first, *_] = error.errors()
        raise click.UsageError(f"{_PREFIX}{str(first['loc'][0]).upper()} {first['input']!r}: {first['msg']}") from None
    if conflict := _conflict(settings):
        raise click.UsageError(conflict)
    # Commands without a Kafka never load its client.
    from soliloquy.runtime.transports.kafka.connection import client_options
    from soliloquy.runtime.transports.kafka.tokens import is_safe

    if settings.token_url and not is_safe(settings.token_url):
        raise click.UsageError(f"{_PREFIX}TOKEN_URL {settings.token_url!r}: use https, since it is sent a secret")
    # It reads the certificates.
    client_options(settings)
    return settings


def _password(file: Path) -> str:
    try:
        return read_regular_text(file).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"cannot read a password from {file} ({error})") from error


def _conflict(settings: KafkaSettings) -> str:
    """Returns why settings cannot be combined; empty if they can."""
    security = f"{_PREFIX}SECURITY"
    bearer = settings.mechanism == "OAUTHBEARER"
    if settings.sasl and bearer and bool(settings.token_file) == bool(settings.token_url):
        return f"{_PREFIX}MECHANISM=OAUTHBEARER requires one of {_PREFIX}TOKEN_FILE and {_PREFIX}TOKEN_URL"
    if settings.sasl and not settings.token_file and not settings.username:
        return f"{security}={settings.security} requires {_PREFIX}USERNAME"
    if settings.sasl and not settings.token_file and not settings.password:
        return f"{security}={settings.security} requires {_PREFIX}PASSWORD or {PASSWORD_FILE}"
    tokens = {"TOKEN_FILE": settings.token_file, "TOKEN_URL": settings.token_url}
    if not bearer and any(tokens.values()):
        return f"{_PREFIX}{_first(tokens)} requires {_PREFIX}MECHANISM=OAUTHBEARER, not {settings.mechanism}"
    if settings.token_scope and not settings.token_url:
        return f"{_PREFIX}TOKEN_SCOPE requires {_PREFIX}TOKEN_URL"
    if settings.key_file and not settings.certificate_file:
        return f"{_PREFIX}KEY_FILE requires {_PREFIX}CERTIFICATE_FILE"
    login = {"USERNAME": settings.username, "PASSWORD": settings.password, "MECHANISM": settings.mechanism != "PLAIN"}
    if not settings.sasl and any(login.values()):
        return f"{_PREFIX}{_first(login)} requires {security}=SASL_SSL, not {settings.security}"
    files = {"CA_FILE": settings.ca_file, "CERTIFICATE_FILE": settings.certificate_file}
    if not settings.tls and any(files.values()):
        return f"{_PREFIX}{_first(files)} requires {security}=SSL or SASL_SSL, not {settings.security}"
    return ""


def _first(values: Mapping[str, object]) -> str:
    return next(name for name, value in values.items() if value)
