"""Processes by their parents, and what the kernel says of each."""

import contextlib
import os
from collections.abc import Collection, Mapping
from pathlib import Path

TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 1024**2
# Among the fields of /proc/<pid>/stat that follow the command's name.
_PARENT = 1
_OWN_TIMES = slice(11, 13)
_RSS = 21

Stat = list[str]


def stats() -> dict[int, Stat]:
    """Of each process the fields of its stat after the command's name."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found[int(path.parent.name)] = path.read_text("ascii", "replace").rpartition(")")[2].split()
    return found


def family(ancestors: Collection[int], known: Mapping[int, Stat]) -> set[int]:
    """These processes and all that descend from them."""
    members = set(ancestors)
    while children := {pid for pid, stat in known.items() if parent(stat) in members} - members:
        members |= children
    return members


def parent(stat: Stat) -> int:
    return int(stat[_PARENT])


def cpu_seconds(stat: Stat) -> float:
    """User and system time of the process itself."""
    return sum(map(int, stat[_OWN_TIMES])) * TICK_SECONDS


def resident_mib(stat: Stat) -> float:
    return int(stat[_RSS]) * _PAGE_MIB


def rss_mib() -> float:
    """Of this process."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE_MIB


def command(pid: int) -> bytes:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
