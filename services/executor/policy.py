"""Reads `policy.toml`, and writes the part of it that the guest enforces."""

import json
import math
import platform
from collections.abc import Iterable
from dataclasses import dataclass

from soliloquy.runtime.beside import table_beside
from soliloquy_services.executor.settings import SandboxSettings

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
