"""The options of the commands that run a gateway."""

from dataclasses import dataclass
from pathlib import Path

from soliloquy.cli.command import gathered, option
from soliloquy.cli.options import EXISTING_FILE, EXISTING_FOLDER
from soliloquy.cli.parameters import ADDRESS
from soliloquy.cli.tls_options import CLIENT_CA, TLS_CERT, TLS_KEY, server_tls
from soliloquy.runs.assignment import GatewayAssignment
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import checked_endpoint


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayOptions:
    grpc: str | None = option("Serve gRPC there.  [default: the next port]", type=ADDRESS)
    tokens: Path | None = option("Callers and their roles, as TOML; otherwise only this machine.", type=EXISTING_FILE)
    problem_files: Path | None = option("The folder of problem files that a run may name.", type=EXISTING_FOLDER)
    chat_endpoints: tuple[str, ...] = option(
        "An OpenAI-compatible API that a chat may ask; without --tokens, also any on this machine. Repeatable.",
        "--chat-endpoint",
        metavar="URL",
    )
    adapters: str | None = option("The registry of adapters to show.", metavar="DIR|URL")
    evaluations: Path | None = option("The folder of evaluations to show.", type=EXISTING_FOLDER)
    tls_cert: Path | None = TLS_CERT
    tls_key: Path | None = TLS_KEY
    client_ca: Path | None = CLIENT_CA

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


GATEWAY = gathered(GatewayOptions)


def _next_port(address: str) -> str:
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + 1 if int(port) else 0}"
