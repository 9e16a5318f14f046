"""The machine that is measured."""

import os
import platform
import re
from pathlib import Path
from typing import Any


def cores() -> int:
    """Counts the cores that this process may use."""
    return len(os.sched_getaffinity(0))


def facts() -> dict[str, Any]:
    return {
        "cores": cores(),
        "cpu": _cpu(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_at_start": round(os.getloadavg()[0], 2),
    }


def busy_seconds() -> float:
    """Returns the CPU time that all processes have used since the machine started."""
    user, nice, system, _, _, *interrupts = Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:8]
    return sum(map(int, (user, nice, system, *interrupts))) / os.sysconf("SC_CLK_TCK")


def accelerator() -> str:
    """Returns the name of the GPU, or "cpu" without one."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def _cpu() -> str:
    model = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.M)
    return model[1] if model else platform.machine()
