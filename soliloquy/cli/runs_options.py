"""The options for reaching a gateway, the same for every command that calls one."""

import os
from pathlib import Path

import click

from soliloquy.cli.options import EXISTING_FILE
from soliloquy.cli.parameters import ADDRESS
from soliloquy.cli.service_options import from_environment, gathered, option
from soliloquy.client import Runs, Tls
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.regular_file import read_regular_text

TOKEN = "SOLILOQUY_TOKEN"
# The time for reaching a gateway and for its answer.
_ANSWER_SECONDS = 5.0
_OPTIONS = (
    option(
        "--gateway",
        default="127.0.0.1:8081",
        show_default=True,
        metavar="HOST:PORT",
        type=ADDRESS,
        help="The gRPC address of the gateway; docs/operating.md names the variables for TLS.",
    ),
    option("--token-file", type=EXISTING_FILE, help=f"A file with the token; {TOKEN} can hold it instead."),
)


def _runs(gateway: str, token_file: Path | None) -> Runs:
    ca, certificate, key = map(_file, ("SOLILOQUY_CA_FILE", "SOLILOQUY_CERTIFICATE_FILE", "SOLILOQUY_KEY_FILE"))
    if key and not certificate:
        raise click.UsageError("SOLILOQUY_KEY_FILE requires SOLILOQUY_CERTIFICATE_FILE")
    encrypted = ca or certificate or from_environment("SOLILOQUY_TLS", click.BOOL)
    return Runs(
        gateway,
        token=_token(token_file),
        tls=Tls(ca=ca, certificate=certificate, key=key) if encrypted else None,
        deadline_seconds=_ANSWER_SECONDS,
    )


# Hands the command `runs`, not connected yet.
gateway_options = gathered("runs", _runs, _OPTIONS)


def _token(file: Path | None) -> str:
    """Reads the token; the command line never holds it, because every user of the machine can see that."""
    if file is None:
        return os.environ.get(TOKEN, "")
    try:
        token = read_regular_text(file).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{file} holds no token ({error})") from error
    if not token.isprintable() or not token:
        raise Failure(f"{file} holds no token: put it on a line of its own")
    return token


def _file(variable: str) -> Path | None:
    path = os.environ.get(variable)
    if path and not Path(path).is_file():
        raise Failure(f"{variable} is {path!r}, which is not a file")
    return Path(path) if path else None
