"""The limits and refusals of `policy.toml`, in the form that the guest is told them."""

import json
import math
import platform
import tomllib
from pathlib import Path
from typing import Any

from services.executor.settings import SandboxSettings

_POLICY: dict[str, Any] = tomllib.loads(Path(__file__).with_name("policy.toml").read_text("utf-8"))

LIMITS: dict[str, int] = _POLICY["limits"]
ZYGOTE_UID: int = _POLICY["ids"]["zygote"]
EXTENSIONS: list[str] = _POLICY["interpreter"]["extensions"]

# A report holds a header, the output and the result; anything longer is not a report.
MAX_REPORT_BYTES = LIMITS["stdout_bytes"] + LIMITS["result_bytes"] + 4_096


def supported_machine() -> str | None:
    machine = platform.machine()
    return machine if machine in _POLICY["denied"] else None


def guest_policy(settings: SandboxSettings) -> bytes:
    machine = platform.machine()
    return json.dumps(
        {
            "preload": _POLICY["preload"]["modules"],
            "zygote_limits": {
                "memory_bytes": settings.memory_bytes,
                "file_bytes": LIMITS["file_bytes"],
                "open_files": LIMITS["open_files"],
            },
            "jail": {
                "machine": machine,
                "denied": sorted(_POLICY["denied"][machine].values()),
                # One more than the wall allows: only what the wall kill misses meets it.
                "cpu_seconds": math.ceil(settings.wall_seconds) + 1,
            },
            "values": {"value_units": LIMITS["value_units"], "value_depth": LIMITS["value_depth"]},
            "caps": {"stdout": LIMITS["stdout_bytes"], "result": LIMITS["result_bytes"]},
            "wall_seconds": settings.wall_seconds,
            "scratch_entries": LIMITS["scratch_entries"],
            "first_uid": _POLICY["ids"]["first_job"],
        }
    ).encode()
