"""The options of the commands that run a gateway."""

from dataclasses import dataclass
from pathlib import Path

from soliloquy.cli.options import EXISTING_FILE, EXISTING_FOLDER
from soliloquy.cli.parameters import ADDRESS
from soliloquy.cli.service_options import gathered, option
from soliloquy.cli.tls_options import SERVER_TLS, server_tls
from soliloquy.runs.assignment import GatewayAssignment
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import checked_endpoint

_OPTIONS = (
    option("--grpc", metavar="HOST:PORT", type=ADDRESS, help="Serve gRPC there.  [default: the next port]"),
    option(
        "--tokens",
        metavar="FILE",
        type=EXISTING_FILE,
        help="Callers and their roles, as TOML; otherwise only this machine.",
    ),
    option(
        "--problem-files", metavar="DIR", type=EXISTING_FOLDER, help="The folder of problem files that a run may name."
    ),
    option(
        "--chat-endpoint",
        "chat_endpoints",
        metavar="URL",
        multiple=True,
        help="An OpenAI-compatible API that a chat may ask; without --tokens, also any on this machine. Repeatable.",
    ),
    option("--adapters", metavar="DIR|URL", help="The registry of adapters to show."),
    option("--evaluations", metavar="DIR", type=EXISTING_FOLDER, help="The folder of evaluations to show."),
    *SERVER_TLS,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayOptions:
    grpc: str | None
    tokens: Path | None
    problem_files: Path | None
    chat_endpoints: tuple[str, ...]
    adapters: str | None
    evaluations: Path | None
    tls_cert: Path | None
    tls_key: Path | None
    client_ca: Path | None

    def assignment(self, *, listen: str, datasets: str | None, models: Models, sandbox: str) -> GatewayAssignment:
        from soliloquy_services.gateway.access.tokens import read_tokens
        from soliloquy_services.gateway.settings import GatewaySettings

        for url in self.chat_endpoints:
            checked_endpoint({"engine": "openai", "base_url": url}, "--chat-endpoint")
        # Bad files end the command before it starts a process.
        if self.tokens:
            read_tokens(self.tokens)
        settings = GatewaySettings(
            listen=listen,
            grpc=self.grpc or _next_port(listen),
            tokens=self.tokens,
            tls=server_tls(self.tls_cert, self.tls_key, self.client_ca),
            models=models,
            datasets=datasets,
            adapters=self.adapters,
            evaluations=self.evaluations,
            chat_endpoints=self.chat_endpoints,
        )
        return GatewayAssignment(settings=settings, problem_files=self.problem_files, sandbox=sandbox)


# Hands the command `gateway`.
gateway_options = gathered("gateway", GatewayOptions, _OPTIONS)


def _next_port(address: str) -> str:
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + 1 if int(port) else 0}"
