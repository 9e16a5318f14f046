"""Reads `policy.toml`, writes the part of it that the guest enforces, and has the settings of the service."""

import json
import math
import platform
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from soliloquy.runtime.files import table_beside


@dataclass(frozen=True, kw_only=True)
class SandboxSettings:
    # The most that each lane has; one per core works best.
    sandboxes: int = 2
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


_POLICY = table_beside(__file__, "policy.toml")


@dataclass(frozen=True, kw_only=True, slots=True)
class ZygoteKind:
    """A zygote with certain packages, with slow imports already loaded."""

    packages: list[str]
    preload: list[str]
    environment: list[str]


LIMITS: dict[str, int] = _POLICY["limits"]
CGROUP: dict[str, int] = _POLICY["cgroup"]
ZYGOTE_UID: int = _POLICY["ids"]["zygote"]
EXTENSIONS: list[str] = _POLICY["interpreter"]["extensions"]
# The system calls that no job may make, by machine.
DENIED: dict[str, dict[str, int]] = _POLICY["denied"]
ENVIRONMENT: list[str] = _POLICY["interpreter"]["environment"]
KINDS: dict[str, ZygoteKind] = {name: ZygoteKind(**kind) for name, kind in _POLICY["zygotes"].items()}
MATH = "math"

# A report holds a header, the output and the result; anything longer is invalid.
MAX_REPORT_BYTES = LIMITS["stdout_bytes"] + LIMITS["result_bytes"] + 4_096


def kind_for(imports: Iterable[str]) -> str:
    """Returns the smallest kind that has every imported package which any kind has."""
    offered = {package for kind in KINDS.values() for package in kind.packages}
    wanted = offered.intersection(imports)
    fitting = [name for name, kind in KINDS.items() if wanted.issubset(kind.packages)]
    return min(fitting, key=lambda name: len(KINDS[name].packages))


def guest_policy(settings: SandboxSettings, kind: str = MATH) -> bytes:
    machine = platform.machine()
    return json.dumps(
        {
            "preload": [*_POLICY["interpreter"]["preload"], *KINDS[kind].preload],
            "zygote_limits": {
                "memory_bytes": settings.memory_bytes,
                "file_bytes": LIMITS["file_bytes"],
                "open_files": LIMITS["open_files"],
            },
            "jail": {
                "machine": machine,
                "denied": sorted(DENIED[machine].values()),
                # One second above the wall limit: it only stops what the wall kill misses.
                "cpu_seconds": math.ceil(settings.wall_seconds) + 1,
            },
            "values": {"units": LIMITS["value_units"], "depth": LIMITS["value_depth"]},
            "worker": {"jobs": LIMITS["worker_jobs"], "memory_bytes": settings.memory_bytes},
            "job_memory": {
                # JSON takes up to six bytes for a character.
                "job_bytes": 6 * LIMITS["code_bytes"] + 65_536,
                "stdout_bytes": LIMITS["stdout_bytes"],
                "result_bytes": LIMITS["result_bytes"],
            },
            "scratch_entries": LIMITS["scratch_entries"],
            "first_uid": _POLICY["ids"]["first_job"],
        }
    ).encode()
