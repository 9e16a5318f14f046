"""The options that say what a gateway is given, the same for every command that runs one."""

from pathlib import Path
from typing import Any

import click

from services.gateway.access.certificates import ServerTls
from services.gateway.settings import GatewaySettings
from soliloquy.cli.addresses import ADDRESS
from soliloquy.cli.service_options import option
from soliloquy.runs.assignment import GatewayAssignment
from soliloquy.runtime.model.settings import Models

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
GRPC = option("--grpc", metavar="HOST:PORT", type=ADDRESS, help="Answer to gRPC there.  [default: one port further]")
GATEWAY = (
    option("--tokens", metavar="FILE", type=_FILE, help="Who may ask, as TOML; else nobody but this machine may."),
    option("--problem-files", metavar="DIR", type=_FOLDER, help="Problem files that a run may name."),
    option("--adapters", metavar="DIR|URL", help="A registry of adapters, to show."),
    option("--evaluations", metavar="DIR", type=_FOLDER, help="A folder of evaluations' folders, to show."),
    option("--tls-cert", metavar="FILE", type=_FILE, help="PEM: the gateway's own certificate; needs --tls-key."),
    option("--tls-key", metavar="FILE", type=_FILE, help="PEM: its key."),
    option("--client-ca", metavar="FILE", type=_FILE, help="PEM: callers need a certificate that it has signed."),
)


def gateway_assignment(
    *,
    listen: str,
    grpc: str | None,
    datasets: str | None,
    models: Models,
    tokens: Path | None,
    problem_files: Path | None,
    adapters: str | None,
    evaluations: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    client_ca: Path | None,
    sandbox: str,
) -> GatewayAssignment:
    settings = GatewaySettings(
        listen=listen,
        grpc=grpc or _one_further(listen),
        tokens=tokens,
        tls=_tls(tls_cert, tls_key, client_ca),
        models=models,
        datasets=datasets,
        adapters=adapters,
        evaluations=evaluations,
    )
    return GatewayAssignment(settings=settings, problem_files=problem_files, sandbox=sandbox)


def taken(options: dict[str, Any]) -> dict[str, Any]:
    """The values of the options above, out of all of a command's."""
    names = ("tokens", "problem_files", "adapters", "evaluations", "tls_cert", "tls_key", "client_ca", "grpc")
    return {name: options.pop(name) for name in names}


def _one_further(address: str) -> str:
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + 1 if int(port) else 0}"


def _tls(certificate: Path | None, key: Path | None, client_ca: Path | None) -> ServerTls | None:
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-cert and --tls-key go together")
    if certificate is None or key is None:
        if client_ca:
            raise click.UsageError("--client-ca says nothing without --tls-cert")
        return None
    return ServerTls(certificate=certificate, key=key, client_ca=client_ca)
