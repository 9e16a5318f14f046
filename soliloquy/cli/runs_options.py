"""The options for reaching a gateway, the same for every command that calls one."""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from soliloquy.cli.addresses import ADDRESS
from soliloquy.cli.service_options import option, with_options
from soliloquy.client import InvalidRequest, NotFound, PermissionDenied, Runs, ServiceUnavailable, Tls
from soliloquy.runs.failure import Failure

Command = TypeVar("Command", bound=Callable[..., Any])

TOKEN = "SOLILOQUY_TOKEN"
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
# The time for reaching a gateway and for its answer.
_ANSWER_SECONDS = 5.0
_OPTIONS = (
    option(
        "--gateway",
        default="127.0.0.1:8081",
        show_default=True,
        metavar="HOST:PORT",
        type=ADDRESS,
        help="The gRPC address of the gateway.",
    ),
    option("--token-file", type=_FILE, help=f"A file with the token; {TOKEN} can hold it instead."),
    click.option("--tls", is_flag=True, help="Use TLS; the files below imply it."),
    option("--ca-file", type=_FILE, help="PEM: the authority of its certificate; by default the system's."),
    option("--certificate-file", type=_FILE, help="PEM: a client certificate, in place of a token."),
    option("--key-file", type=_FILE, help="PEM: its key, unless the same file holds it."),
)


def gateway_options(command: Command) -> Callable[..., Any]:
    """Hands the command `runs`, not connected yet."""

    @functools.wraps(command)
    def with_runs(
        *arguments: Any,
        gateway: str,
        token_file: Path | None,
        tls: bool,
        ca_file: Path | None,
        certificate_file: Path | None,
        key_file: Path | None,
        **options: Any,
    ) -> Any:
        if key_file and not certificate_file:
            raise click.UsageError("--key-file requires --certificate-file")
        encrypted = tls or ca_file or certificate_file
        runs = Runs(
            gateway,
            token=_token(token_file),
            tls=Tls(ca=ca_file, certificate=certificate_file, key=key_file) if encrypted else None,
            deadline_seconds=_ANSWER_SECONDS,
        )
        return command(*arguments, runs=runs, **options)

    return with_options(_OPTIONS)(with_runs)


@contextmanager
def opened(runs: Runs) -> Iterator[Runs]:
    """Turns what a gateway refuses, and its absence, into a Failure."""
    try:
        with runs:
            yield runs
    except (PermissionDenied, InvalidRequest, ServiceUnavailable, NotFound) as error:
        raise Failure(str(error)) from error


def _token(file: Path | None) -> str:
    """Reads the token; the command line never holds it, because every user of the machine can see that."""
    if file is None:
        return os.environ.get(TOKEN, "")
    try:
        token = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{file} holds no token ({error})") from error
    if not token.isprintable() or not token:
        raise Failure(f"{file} holds no token: put it on a line of its own")
    return token
