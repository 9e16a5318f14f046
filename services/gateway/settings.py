"""What an operator may set for the gateway."""

from dataclasses import dataclass, field
from pathlib import Path

from services.gateway.access.certificates import Tls
from soliloquy.runtime.model.settings import Models, shipped_models


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewaySettings:
    # Where it answers over HTTP and over gRPC.
    listen: str = "127.0.0.1:0"
    grpc: str = "127.0.0.1:0"
    # Who may ask; None for everybody on this machine, and no other.
    tokens: Path | None = None
    tls: Tls | None = None
    # Which model answers each role: what a token costs.
    models: Models = field(default_factory=shipped_models)
    # Where the collector's datasets lie; None where the gateway does not see them.
    datasets: str | None = None
    # Where adapters are kept, a folder or a store, and the folder whose folders are evaluations.
    adapters: str | None = None
    evaluations: Path | None = None
    # Runs that are not over, at once.
    most_runs: int = 100
