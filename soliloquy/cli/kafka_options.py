"""The options for reaching a Kafka, the same for every command that uses one."""

import functools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from soliloquy.cli.addresses import ADDRESS
from soliloquy.runs.failure import Failure
from soliloquy.runtime.transports.kafka import KafkaSettings, KafkaUnavailable

Command = TypeVar("Command", bound=Callable[..., Any])

PASSWORD = "SOLILOQUY_KAFKA_PASSWORD"
_DEFAULTS = KafkaSettings(bootstrap="")
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


class Brokers(click.ParamType[str]):
    name = "brokers"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> str:
        addresses = str(value).split(",")
        for address in addresses:
            try:
                ADDRESS.convert(address, param, context)
            except click.BadParameter:
                self.fail(f"invalid address {address!r}: use HOST:PORT, e.g. 127.0.0.1:9092", param, context)
        return ",".join(addresses)


def _prefix(_: click.Context, __: click.Parameter, prefix: str) -> str:
    if re.fullmatch(r"[\w.-]{0,64}", prefix, re.ASCII) is None:
        raise click.BadParameter(f"invalid prefix {prefix!r}: use letters, digits, '.', '_' and '-'")
    return prefix


def _option(name: str, **how: Any) -> Callable[[Command], Command]:
    """`--kafka-name`, or SOLILOQUY_KAFKA_NAME in the environment."""
    flag = f"--kafka-{name}" if name else "--kafka"
    variable = flag.strip("-").replace("-", "_")
    return click.option(flag, variable, envvar=f"SOLILOQUY_{variable.upper()}", show_envvar=True, **how)


_REACH = (
    _option("", type=Brokers(), metavar="HOST:PORT[,HOST:PORT]...", help="Brokers; one that is up suffices."),
    _option(
        "security",
        type=click.Choice(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]),
        default=_DEFAULTS.security,
        show_default=True,
        help="SSL encrypts; SASL sends a user name and a password.",
    ),
    _option(
        "mechanism",
        type=click.Choice(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]),
        default=_DEFAULTS.mechanism,
        show_default=True,
        help="How the password is sent.",
    ),
    _option("username", default="", help="With SASL."),
    _option("password-file", type=_FILE, help=f"A file with the password; {PASSWORD} can hold it instead."),
    _option(
        "ca-file",
        type=_FILE,
        help="PEM: the authority of the brokers' certificates; by default the system's.",
    ),
    _option("certificate-file", type=_FILE, help="PEM: the certificate of this client, for brokers that require one."),
    _option("key-file", type=_FILE, help="PEM: its key, unless the same file holds it."),
    _option(
        "prefix",
        default="",
        callback=_prefix,
        help="The prefix of all topics and groups, for installations that share a Kafka.",
    ),
)
_MEMBER = (
    _option("instance", default="", help="A name that stays the same over restarts, so that they cause no rebalance."),
)


def kafka_options(*, required: bool = False, member: bool = False) -> Callable[[Command], Callable[..., Any]]:
    """Hands the command `kafka`, None if no Kafka is named; `member` adds the options of commands that consume."""

    def decorate(command: Command) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_settings(*arguments: Any, **options: Any) -> Any:
            chosen = {name: options.pop(name) for name in list(options) if name.split("_")[0] == "kafka"}
            return command(*arguments, kafka=_settings(chosen, required=required), **options)

        for option in reversed(_REACH + (_MEMBER if member else ())):
            option(with_settings)
        return with_settings

    return decorate


def _settings(chosen: dict[str, Any], *, required: bool) -> KafkaSettings | None:
    bootstrap = chosen.pop("kafka")
    if bootstrap is None:
        if required:
            raise click.UsageError("--kafka HOST:PORT is required, or SOLILOQUY_KAFKA in the environment")
        _refuse_without_kafka(chosen)
        return None
    file = chosen.pop("kafka_password_file")
    values = {name.removeprefix("kafka_"): value for name, value in chosen.items()}
    settings = KafkaSettings(
        bootstrap=bootstrap, password=_password(file) if file else os.environ.get(PASSWORD, ""), **values
    )
    if conflict := _conflict(settings):
        raise click.UsageError(conflict)
    # Commands without a Kafka never load its client.
    from soliloquy.runtime.transports.kafka.connection import client_options

    try:
        # It reads the certificates.
        client_options(settings)
    except KafkaUnavailable as error:
        raise Failure(str(error)) from error
    return settings


def _refuse_without_kafka(chosen: dict[str, Any]) -> None:
    context = click.get_current_context()
    for name in chosen:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} requires --kafka")


def _password(file: Path) -> str:
    try:
        return file.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"cannot read a password from {file} ({error})") from error


def _conflict(settings: KafkaSettings) -> str:
    """Returns why options cannot be combined; empty if they can."""
    security = settings.security
    if settings.sasl and not settings.username:
        return f"--kafka-security {security} requires --kafka-username"
    if settings.sasl and not settings.password:
        return f"--kafka-security {security} requires --kafka-password-file, or a password in {PASSWORD}"
    if settings.key_file and not settings.certificate_file:
        return "--kafka-key-file requires --kafka-certificate-file"
    if not settings.sasl:
        given = {
            "--kafka-username": settings.username,
            "a password": settings.password,
            "--kafka-mechanism": settings.mechanism != _DEFAULTS.mechanism,
        }
        if unfit := [name for name, value in given.items() if value]:
            return f"{unfit[0]} requires --kafka-security SASL_SSL, not {security}"
    if not settings.tls:
        files = {"--kafka-ca-file": settings.ca_file, "--kafka-certificate-file": settings.certificate_file}
        if unfit := [name for name, value in files.items() if value]:
            return f"{unfit[0]} requires --kafka-security SSL or SASL_SSL, not {security}"
    return ""
