"""Options of the gateway, for `service gateway` and `up`."""

from dataclasses import dataclass
from pathlib import Path

from soliloquy.cli.command import gathered, option
from soliloquy.cli.options import ADDRESS, EXISTING_FILE, EXISTING_FOLDER, whole
from soliloquy.cli.service_options import SERVER_TLS
from soliloquy.cli.webhook_options import WEBHOOKS, webhook_settings
from soliloquy.runs.assignment import GatewayAssignment
from soliloquy.runs.supervision import DATABASE, PROBLEMS
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import checked_endpoint
from soliloquy.runtime.tls import ServerTls


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayOptions:
    grpc: str | None = option("Serve gRPC there.  [default: the next port]", type=ADDRESS)
    tokens: Path | None = option(
        "Callers, groups and their roles, as TOML; otherwise only this machine.", type=EXISTING_FILE
    )
    problem_files: Path | None = option(
        "The folder of problem files that a run may name, and people add to.  [default: in --data of `up`]",
        type=EXISTING_FOLDER,
    )
    chat_endpoints: tuple[str, ...] = option(
        "An OpenAI-compatible API that a chat may ask; without --tokens, also any on this machine. Repeatable.",
        "--chat-endpoint",
        metavar="URL",
    )
    adapters: str | None = option("The registry of adapters to show.", metavar="DIR|URL")
    evaluations: Path | None = option("The folder of evaluations to show.", type=EXISTING_FOLDER)
    database: str | None = option(
        "The database that remembers runs: sqlite:////FILE, or postgresql://USER@HOST/NAME, whose password is in "
        "PGPASSWORD or the file of PGPASSFILE.  [default: a file in --data of `up`, otherwise a temporary file]",
        metavar="URL",
    )
    delete_runs_after: int | None = option(
        "Delete runs that have been over for so many days, with their datasets.  [default: never]",
        type=whole(1, 36_500),
        metavar="DAYS",
    )
    quotas: Path | None = option("Shares and limits of tenants, as TOML.", type=EXISTING_FILE)
    templates: Path | None = option("Runs to start by name or at set times, as TOML.", type=EXISTING_FILE)
    webhooks: tuple[str, ...] = WEBHOOKS
    tls: ServerTls | None = SERVER_TLS

    def assignment(
        self, *, listen: str, datasets: str | None, models: Models, sandbox: str, data: Path | None = None
    ) -> GatewayAssignment:
        """`data` is a folder for a database and problem files, if none is named."""
        from soliloquy_services.gateway.access.tokens import read_tokens
        from soliloquy_services.gateway.database import engine_of
        from soliloquy_services.gateway.quotas import read_quotas
        from soliloquy_services.gateway.settings import GatewaySettings
        from soliloquy_services.gateway.templates import read_templates

        for url in self.chat_endpoints:
            checked_endpoint({"engine": "openai", "base_url": url}, "--chat-endpoint")
        # Bad files end the command before it starts a process.
        if self.tokens:
            read_tokens(self.tokens)
        if self.quotas:
            read_quotas(self.quotas)
        if self.templates:
            read_templates(self.templates)
        if self.database:
            engine_of(self.database)
        settings = GatewaySettings(
            listen=listen,
            grpc=self.grpc or _next_port(listen),
            tokens=self.tokens,
            quotas=self.quotas,
            templates=self.templates,
            tls=self.tls,
            models=models,
            datasets=datasets,
            adapters=self.adapters,
            evaluations=self.evaluations,
            chat_endpoints=self.chat_endpoints,
            delete_runs_after=self.delete_runs_after,
            webhooks=webhook_settings(self.webhooks),
            database=self.database or (f"sqlite:///{data.resolve()}/{DATABASE}" if data else ""),
        )
        files = self.problem_files or (data and data / PROBLEMS)
        return GatewayAssignment(settings=settings, problem_files=files, sandbox=sandbox)


GATEWAY = gathered(GatewayOptions)


def _next_port(address: str) -> str:
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + 1 if int(port) else 0}"
