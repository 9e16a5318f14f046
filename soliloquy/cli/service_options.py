"""Options of the commands that run services. Each can also come from the environment, as in a container."""

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic import TypeAdapter, ValidationError

from soliloquy.cli.command import gathered, option, setting
from soliloquy.cli.options import (
    BROKERS,
    COUNT,
    DURATION,
    EXISTING_FILE,
    EXISTING_FOLDER,
    NEW_FOLDER,
    SIZE,
    WORKERS,
    Choice,
    whole,
)
from soliloquy.dataset.layout import ShardLimits
from soliloquy.recipes.prompts import BrokenPrompt, changed_texts, spoken_prompts
from soliloquy.recipes.recipe import checked_prompts, load_judges
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_regular_text, refuse_foreign
from soliloquy.runtime.tls import ServerTls, Tls
from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.standin.faults import LEVELS
from soliloquy.truth.locales import languages

T = TypeVar("T")


def from_environment(variable: str, kind: click.ParamType[T]) -> T | None:
    """Returns a setting that only the environment holds, or None; raises UsageError."""
    given = os.environ.get(variable)
    try:
        return kind.convert(given, None, None) if given else None
    except click.BadParameter as bad:
        raise click.UsageError(f"{variable}: {bad.message}") from bad


def _checked(_: click.Context, __: click.Parameter, classifiers: Path | None) -> Path | None:
    load_judges(classifiers)
    return classifiers


GRACE = option("Time for unfinished work when it is stopped.", "--grace", default="20s", type=DURATION)
LATENCY = option("Latency of the scripted model's answers.", "--latency", default="0ms", type=DURATION)
NOISE = option(
    "Imitate real models: the length of their messages alone, or also their faults, at the rates that were counted or "
    "at twice those.",
    "--noise",
    default="none",
    type=Choice(list(LEVELS)),
)
CLASSIFIERS = option(
    "From `problems calibrate`: judges of word problems that weigh what the rules find.",
    "--classifiers",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, resolve_path=True),
    callback=_checked,
)
PROMPTS = setting(
    "Changed prompts of the recipe, as `soliloquy recipes prompts` writes them.", "--prompts", type=EXISTING_FOLDER
)


LANGUAGE = setting(
    "The language of the problems and of all messages; not for the scripted model.  [default: English]",
    "--language",
    type=Choice(languages()),
)


def chosen_prompts(recipe: str, place: Path | None, language: str = "") -> Mapping[str, str]:
    """Returns the recipe's prompts in a language, and the files of the folder that differ; raises BrokenPrompt."""
    spoken = spoken_prompts(recipe, language)
    if place is None:
        return spoken
    changed = spoken | changed_texts(recipe, place, language)
    try:
        checked_prompts(recipe, changed)
    except BrokenPrompt as error:
        raise BrokenPrompt(f"{place}/{error}") from None
    return changed


STORE = "s3://BUCKET/FOLDER|iceberg:CATALOG/NAMESPACE"


def collector_options() -> Any:
    """Returns the options of the collector, which make its settings."""
    from soliloquy_services.collector.settings import LiveSettings

    usual = LiveSettings()
    rows_text = "Conversations in a shard, the unit that readers open."
    seconds_text = "The longest that a conversation waits for its shard, and its readers for it; 5s at most in tables."
    seconds = f"{usual.shard_seconds:g}s"

    def settings(
        data: Path | None = option("Where the collector keeps finished conversations.", type=NEW_FOLDER),
        store: str = option("An object store for datasets, or tables; docs/operating.md.", default="", metavar=STORE),
        shard_rows: int = option(rows_text, default=usual.limits.rows, type=COUNT),
        shard_seconds: float = option(seconds_text, default=seconds, type=DURATION),
    ) -> LiveSettings:
        limits = ShardLimits(rows=shard_rows)
        made = LiveSettings(data=data or Path(), store=store, shard_seconds=shard_seconds, limits=limits)
        if data:
            # The collector's lock tells its folder from others.
            refuse_foreign(data, "lock", option="--data")
        elif not made.in_tables:
            command = click.get_current_context().command_path.removeprefix("soliloquy ")
            raise click.UsageError(f"{command} requires --data DIR, or a --store of tables")
        return made

    return gathered(settings)


def sandbox_options() -> Any:
    """Returns the options of the executor, which make its settings."""
    from soliloquy_services.executor.policy import SandboxSettings

    usual = SandboxSettings()
    jobs_text = "Warm sandboxes of each lane: the jobs that run at once."
    wall, memory_size = f"{usual.wall_seconds:g}s", f"{usual.memory_bytes // 1024**2}MiB"

    def settings(
        sandboxes: int = option(jobs_text, default=os.cpu_count(), type=whole(1, WORKERS)),
        wall: float = option("The longest that a program may run.", default=wall, type=DURATION),
        memory: int = option("The address space that a program may use.", default=memory_size, type=SIZE),
        audit: bool = option("Run each job in a sandbox of its own, for models that nobody trusts."),
    ) -> SandboxSettings:
        return SandboxSettings(sandboxes=sandboxes, wall_seconds=wall, memory_bytes=memory, audit=audit)

    return gathered(settings)


# For the options that name a server.
TLS_HELP = "docs/operating.md names the variables for TLS."


def _server_tls(
    tls_cert: Path | None = option("PEM: the server's certificate; requires --tls-key.", type=EXISTING_FILE),
    tls_key: Path | None = option("PEM: the key of --tls-cert.", type=EXISTING_FILE),
    client_ca: Path | None = option("PEM: the authority that signs the certificates of callers.", type=EXISTING_FILE),
) -> ServerTls | None:
    """Raises UsageError for options that contradict each other, and Failure for files that cannot be used."""
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert requires --tls-key" if tls_cert else "--tls-key requires --tls-cert")
    if tls_cert is None or tls_key is None:
        if client_ca:
            raise click.UsageError("--client-ca requires --tls-cert")
        return None
    tls = ServerTls(certificate=tls_cert, key=tls_key, client_ca=client_ca)
    # Bad files end the command before it starts a process.
    tls.for_http()
    return tls


SERVER_TLS = gathered(_server_tls)


def client_tls() -> Tls | None:
    """Reads how this process knows the servers of ours that it calls, and is known to them."""
    ca, certificate, key = map(_file, ("SOLILOQUY_CA_FILE", "SOLILOQUY_CERTIFICATE_FILE", "SOLILOQUY_KEY_FILE"))
    if key and not certificate:
        raise click.UsageError("SOLILOQUY_KEY_FILE requires SOLILOQUY_CERTIFICATE_FILE")
    encrypted = ca or certificate or from_environment("SOLILOQUY_TLS", click.BOOL)
    return Tls(ca=ca, certificate=certificate, key=key) if encrypted else None


def _file(variable: str) -> Path | None:
    path = os.environ.get(variable)
    if path and not Path(path).is_file():
        raise Failure(f"{variable} is {path!r}, which is not a file")
    return Path(path) if path else None


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
    return _kafka_settings(kafka, kafka_prefix) if kafka else None


def _required(kafka: KafkaSettings | None = gathered(_kafka)) -> KafkaSettings:
    if kafka is None:
        raise click.UsageError("--kafka HOST:PORT is required, or SOLILOQUY_KAFKA in the environment")
    return kafka


# None if no Kafka is named.
KAFKA, REQUIRED_KAFKA = gathered(_kafka), gathered(_required)


def _kafka_settings(bootstrap: str, prefix: str) -> KafkaSettings:
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
    from soliloquy.runtime.authority import is_safe
    from soliloquy.runtime.transports.kafka.connection import client_options

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
