"""Reads processes and their descendants from /proc: CPU, memory, command lines."""

import contextlib
import ctypes
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 1024**2
# Indices among the fields of /proc/<pid>/stat that follow the command's name.
_PARENT = 1
_OWN_TIMES = slice(11, 13)
_OWN_AND_REAPED_TIMES = slice(11, 15)
_RSS = 21
_PR_SET_CHILD_SUBREAPER = 36
_REPLICA_TITLE = b"ray::ServeReplica:"

Stat = list[str]


def stats() -> dict[int, Stat]:
    """Returns, by process, the fields of its stat file that follow the command's name."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found[int(path.parent.name)] = path.read_text("ascii", "replace").rpartition(")")[2].split()
    return found


def family(ancestors: Collection[int], known: Mapping[int, Stat]) -> set[int]:
    """Returns these processes and all their descendants."""
    members = set(ancestors)
    while children := {pid for pid, stat in known.items() if parent(stat) in members} - members:
        members |= children
    return members


def parent(stat: Stat) -> int:
    return int(stat[_PARENT])


def cpu_seconds(stat: Stat) -> float:
    """Returns the user and system time of the process itself."""
    return sum(map(int, stat[_OWN_TIMES])) * TICK_SECONDS


def cpu_seconds_of_all() -> float:
    """Returns the user and system time of this process and of everything it has started."""
    known = stats()
    started = family([os.getpid()], known) - {os.getpid()}
    ticks = sum(int(field) for pid in started for field in known[pid][_OWN_AND_REAPED_TIMES])
    return sum(os.times()[:4]) + ticks * TICK_SECONDS


def adopt_orphans() -> None:
    """Has orphaned descendants reaped here, so that `cpu_seconds_of_all` counts traced processes of sandboxes too."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def resident_mib(stat: Stat) -> float:
    return int(stat[_RSS]) * _PAGE_MIB


def own_resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE_MIB


def pss_mib(pids: Iterable[int]) -> float:
    """Returns their proportional memory: a page that several processes share counts once in total."""
    return sum(_pss_kib(pid) for pid in pids) / 1024


def _pss_kib(pid: int) -> int:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
        return sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return 0


def command(pid: int) -> bytes:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def sandbox_families(runtime_dir: Path) -> dict[int, set[int]]:
    """Returns, by its first process, the processes of each sandbox: runsc's own, and those it traces."""
    mark = f"{runtime_dir}/".encode()
    known = stats()
    # The traced processes carry no command line.
    marked = {pid for pid in known if mark in command(pid)}
    return {pid: family([pid], known) for pid in marked if parent(known[pid]) not in marked}


def replicas(root: int) -> set[int]:
    """Returns the replicas of a model service among the descendants of the process that started Ray."""
    return {pid for pid in family({root}, stats()) if command(pid).startswith(_REPLICA_TITLE)}
