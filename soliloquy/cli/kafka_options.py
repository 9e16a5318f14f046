"""The options that say how to reach a Kafka, the same for every command that uses one."""

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
                self.fail(f"{address!r} is no address: write HOST:PORT, such as 127.0.0.1:9092", param, context)
        return ",".join(addresses)


def _prefix(_: click.Context, __: click.Parameter, prefix: str) -> str:
    if re.fullmatch(r"[\w.-]{0,64}", prefix, re.ASCII) is None:
        raise click.BadParameter(f"{prefix!r} cannot begin a name in Kafka: letters, digits, '.', '_' and '-' can")
    return prefix


def _option(name: str, **how: Any) -> Callable[[Command], Command]:
    """`--kafka-name`, or SOLILOQUY_KAFKA_NAME in the environment."""
    flag = f"--kafka-{name}" if name else "--kafka"
    variable = flag.strip("-").replace("-", "_")
    return click.option(flag, variable, envvar=f"SOLILOQUY_{variable.upper()}", show_envvar=True, **how)


_REACH = (
    _option("", type=Brokers(), metavar="HOST:PORT[,HOST:PORT]...", help="Brokers; one that is up is enough."),
    _option(
        "security",
        type=click.Choice(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]),
        default=_DEFAULTS.security,
        show_default=True,
        help="SSL encrypts; SASL gives a user name and a password.",
    ),
    _option(
        "mechanism",
        type=click.Choice(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]),
        default=_DEFAULTS.mechanism,
        show_default=True,
        help="How the password is given.",
    ),
    _option("username", default="", help="With SASL."),
    _option("password-file", type=_FILE, help=f"Holds the password; or have the password itself in {PASSWORD}."),
    _option(
        "ca-file", type=_FILE, help="PEM: who signed the brokers' certificates; by default whom the system trusts."
    ),
    _option("certificate-file", type=_FILE, help="PEM: this client's own, for brokers that ask for one."),
    _option("key-file", type=_FILE, help="PEM: its key, unless that is in the same file."),
    _option(
        "prefix",
        default="",
        callback=_prefix,
        help="What all topics and groups begin with, where several installations share a Kafka.",
    ),
)
_MEMBER = (
    _option("instance", default="", help="A name that stays over restarts: they cause no rebalance."),
    _option(
        "session-seconds",
        type=click.FloatRange(min=1),
        default=_DEFAULTS.session_seconds,
        show_default=True,
        help="A process not heard of for so long loses its share to others.",
    ),
    _option(
        "rebalance-seconds",
        type=click.FloatRange(min=1),
        default=_DEFAULTS.rebalance_seconds,
        show_default=True,
        help="What a process may take to hand over its share.",
    ),
)


def kafka_options(*, required: bool = False, member: bool = False) -> Callable[[Command], Callable[..., Any]]:
    """Hands the command `kafka`, the settings, or None where no Kafka is named; `member` is for those that consume."""

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
            raise click.UsageError("which Kafka? Use --kafka HOST:PORT, or set SOLILOQUY_KAFKA")
        _refuse_without_kafka(chosen)
        return None
    file = chosen.pop("kafka_password_file")
    values = {name.removeprefix("kafka_"): value for name, value in chosen.items()}
    settings = KafkaSettings(
        bootstrap=bootstrap, password=_password(file) if file else os.environ.get(PASSWORD, ""), **values
    )
    if misfit := _misfit(settings):
        raise click.UsageError(misfit)
    # Loaded where a Kafka is named.
    from soliloquy.runtime.transports.kafka.connection import client_options

    try:
        # What is wrong with a certificate is wrong with an option.
        client_options(settings)
    except KafkaUnavailable as error:
        raise Failure(str(error)) from error
    return settings


def _refuse_without_kafka(chosen: dict[str, Any]) -> None:
    context = click.get_current_context()
    for name in chosen:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} says nothing without --kafka")


def _password(file: Path) -> str:
    try:
        return file.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"no password can be read from {file} ({error})") from error


def _misfit(settings: KafkaSettings) -> str:
    """What does not fit together; empty where all does."""
    security = settings.security
    if settings.sasl and not settings.username:
        return f"--kafka-security {security} needs --kafka-username"
    if settings.sasl and not settings.password:
        return f"--kafka-security {security} needs a password, in {PASSWORD} or by --kafka-password-file"
    if settings.key_file and not settings.certificate_file:
        return "--kafka-key-file needs --kafka-certificate-file"
    if not settings.sasl:
        given = {
            "--kafka-username": settings.username,
            "a password": settings.password,
            "--kafka-mechanism": settings.mechanism != _DEFAULTS.mechanism,
        }
        if unfit := [name for name, value in given.items() if value]:
            return f"{unfit[0]} does not go with --kafka-security {security}: use SASL_SSL"
    if not settings.tls:
        files = {"--kafka-ca-file": settings.ca_file, "--kafka-certificate-file": settings.certificate_file}
        if unfit := [name for name, value in files.items() if value]:
            return f"{unfit[0]} does not go with --kafka-security {security}: use SSL or SASL_SSL"
    return ""
