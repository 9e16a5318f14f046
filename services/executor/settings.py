"""What an operator chooses for the sandbox; what a job may do is in `policy.toml`."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class SandboxSettings:
    # Of each lane, at most; one a core serves best.
    sandboxes: int = 2
    # Booted ahead for the single-use lane: from its first job on, and in an audit from the start.
    spares: int = 1
    # Every job in the single-use lane.
    audit: bool = False
    # Events handled at once; None takes four for each sandbox.
    max_in_flight: int | None = None
    # Jobs that may wait for a sandbox; further ones are refused.
    max_waiting: int = 256
    wall_seconds: float = 2.0
    memory_bytes: int = 512 * 1024 * 1024
    # Jobs after which a sandbox is replaced, whatever its state.
    recycle_after: int = 1_000
    # A vetted job leaves nothing behind, and its workers are replaced much sooner.
    recycle_vetted_after: int = 100_000
    # systrap or ptrace; None takes the first that boots.
    platform: str | None = None
    boot_seconds: float = 15.0
    runtime_dir: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
