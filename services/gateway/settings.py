"""The gateway's settings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.tls import ServerTls


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookSettings:
    urls: Sequence[str] = ()
    # Signs what they are told.
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewaySettings:
    # The addresses of HTTP and gRPC.
    listen: str = "127.0.0.1:0"
    grpc: str = "127.0.0.1:0"
    # The file of tokens; None admits every caller on this machine, and no other.
    tokens: Path | None = None
    tls: ServerTls | None = None
    # The model of each role, which decides the cost of a token.
    models: Models = field(default_factory=shipped_models)
    # The collector's datasets; None where the gateway does not see them.
    datasets: str | None = None
    # The registry of adapters, a folder or an object store, and the folder of evaluations.
    adapters: str | None = None
    evaluations: Path | None = None
    # The base URLs of models that a person may have a chat ask, besides the gateway's own.
    chat_endpoints: Sequence[str] = ()
    # The file of quotas; None where each run has what it asks for.
    quotas: Path | None = None
    # The file of templates of runs.
    templates: Path | None = None
    # The number of unfinished runs at a time.
    most_runs: int = 100
    # Days after their end when runs are deleted; None keeps them.
    delete_runs_after: int | None = None
    # The URLs that are told of the end of each run.
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
    # The URL of the database that remembers its runs; empty for a temporary one, which each start fills again.
    database: str = ""
