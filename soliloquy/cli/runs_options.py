"""The options that say how to reach a gateway, the same for every command that asks one."""

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
# For a gateway to be reached and to answer.
_ANSWER_SECONDS = 5.0
_OPTIONS = (
    option(
        "--gateway",
        default="127.0.0.1:8081",
        show_default=True,
        metavar="HOST:PORT",
        type=ADDRESS,
        help="Where it answers to gRPC.",
    ),
    option("--token-file", type=_FILE, help=f"Holds the token; or have the token itself in {TOKEN}."),
    click.option("--tls", is_flag=True, help="Encrypt; the files below say so too."),
    option("--ca-file", type=_FILE, help="PEM: who signed its certificate; by default whom the system trusts."),
    option("--certificate-file", type=_FILE, help="PEM: one's own, in place of a token."),
    option("--key-file", type=_FILE, help="PEM: its key, unless that is in the same file."),
)


def gateway_options(command: Command) -> Callable[..., Any]:
    """Hands the command `runs`, which is not opened yet."""

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
            raise click.UsageError("--key-file says nothing without --certificate-file")
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
    """What a gateway refuses, or that there is none, ends the command with one line."""
    try:
        with runs:
            yield runs
    except (PermissionDenied, InvalidRequest, ServiceUnavailable, NotFound) as error:
        raise Failure(str(error)) from error


def _token(file: Path | None) -> str:
    """Never of the command line, which everybody on the machine can read."""
    if file is None:
        return os.environ.get(TOKEN, "")
    try:
        token = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{file} holds no token ({error})") from error
    if not token.isprintable() or not token:
        raise Failure(f"{file} holds no token: write it on a line of its own")
    return token
