"""What an operator may set for the gateway."""

from dataclasses import dataclass, field
from pathlib import Path

from services.runtime.model.settings import Models, shipped_models


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewaySettings:
    # Which model answers each role: what a token costs.
    models: Models = field(default_factory=shipped_models)
    # The folder of problem files that a run may name; none where it is None.
    problem_files: Path | None = None
    # Where the collector's datasets lie; None where the gateway does not see them.
    datasets: str | None = None
    # Where adapters are kept, a folder or a store, and the folder whose folders are evaluations.
    adapters: str | None = None
    evaluations: Path | None = None
    # The most that one run may be asked for, and runs that are not over at once.
    most_conversations: int = 1_000_000
    most_runs: int = 100
