"""Settings of the sandbox pool; `policy.toml` says what a job may do."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class SandboxSettings:
    # The most that each lane has; one per core works best.
    sandboxes: int = 2
    # Booted in advance for the single-use lane: from its first job on, or from the start if `audit` is set.
    spares: int = 1
    # Runs every job in the single-use lane.
    audit: bool = False
    # Jobs that may wait for a sandbox; further ones are refused.
    max_waiting: int = 256
    wall_seconds: float = 2.0
    memory_bytes: int = 512 * 1024 * 1024
    # Jobs after which a sandbox is replaced, whatever its state.
    recycle_after: int = 1_000
    # Higher, because a vetted job leaves nothing behind and the workers are replaced much sooner.
    recycle_vetted_after: int = 100_000
    # systrap or ptrace; None picks the first that boots.
    platform: str | None = None
    boot_seconds: float = 15.0
    runtime_dir: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
