"""The options for reaching a gateway, the same for every command that calls one."""

import os
from pathlib import Path

from soliloquy.cli.command import option
from soliloquy.cli.options import EXISTING_FILE
from soliloquy.cli.parameters import ADDRESS
from soliloquy.cli.service_options import gathered
from soliloquy.cli.tls_options import TLS_HELP, client_tls
from soliloquy.client import Runs
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.regular_file import read_regular_text

TOKEN = "SOLILOQUY_TOKEN"
# The time for reaching a gateway and for its answer.
_ANSWER_SECONDS = 5.0


def _runs(
    gateway: str = option(f"The gRPC address of the gateway; {TLS_HELP}", default="127.0.0.1:8081", type=ADDRESS),
    token_file: Path | None = option(f"A file with the token; {TOKEN} can hold it instead.", type=EXISTING_FILE),
) -> Runs:
    return Runs(gateway, token=_token(token_file), tls=client_tls(), deadline_seconds=_ANSWER_SECONDS)


# Hands the command `runs`, not connected yet.
gateway_options = gathered("runs", _runs)


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
