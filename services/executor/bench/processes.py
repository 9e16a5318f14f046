"""The processes of a pool's sandboxes, and what they cost in CPU and memory."""

import contextlib
import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
# Among the fields of /proc/<pid>/stat that follow the command's name.
_PARENT = 1
_TIMES = slice(11, 15)


def families(runtime_dir: Path) -> dict[int, set[int]]:
    """By its first process, every sandbox's: runsc's own and what they trace, which carries no command line."""
    mark = f"{runtime_dir}/".encode()
    parents = {pid: int(stat[_PARENT]) for pid, stat in _stats().items()}
    marked = {pid for pid in parents if mark in _command(pid)}
    return {pid: _family(pid, parents) for pid in marked if parents[pid] not in marked}


def adopt_orphans() -> None:
    """What a sandbox's processes have used counts as ours when they end: a traced one may outlive who would reap it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cpu_seconds() -> float:
    """User and system time until now of this process and of all that it started."""
    stats = _stats()
    started = _family(os.getpid(), {pid: int(stat[_PARENT]) for pid, stat in stats.items()}) - {os.getpid()}
    return sum(os.times()[:4]) + sum(int(ticks) for pid in started for ticks in stats[pid][_TIMES]) * _TICK_SECONDS


def pss_mib(family: Iterable[int]) -> float:
    """Memory in proportion: a page that several processes share counts once in all."""
    return sum(_pss_kib(pid) for pid in family) / 1024


def rss_mib() -> float:
    """Of this process."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def _family(pid: int, parents: dict[int, int]) -> set[int]:
    family = {pid}
    while children := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= children
    return family


def _stats() -> dict[int, list[str]]:
    """Of each process the fields of its stat after the command's name."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            stats[int(path.parent.name)] = path.read_text("ascii", "replace").rpartition(")")[2].split()
    return stats


def _command(pid: int) -> bytes:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _pss_kib(pid: int) -> int:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
        return sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return 0
