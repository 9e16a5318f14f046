"""TLS of the commands: a server's files are options, a client's are in the environment alone."""

import os
from pathlib import Path

import click

from soliloquy.cli.command import gathered, option
from soliloquy.cli.options import EXISTING_FILE
from soliloquy.cli.service_options import from_environment
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.tls import ServerTls, Tls

# For the options that name a server.
TLS_HELP = "docs/operating.md names the variables for TLS."

TLS_CERT = option("PEM: the server's certificate; requires --tls-key.", type=EXISTING_FILE)
TLS_KEY = option("PEM: the key of --tls-cert.", type=EXISTING_FILE)
CLIENT_CA = option("PEM: the authority that signs the certificates of callers.", type=EXISTING_FILE)


def server_tls(
    tls_cert: Path | None = TLS_CERT, tls_key: Path | None = TLS_KEY, client_ca: Path | None = CLIENT_CA
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


SERVER_TLS = gathered(server_tls)


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
