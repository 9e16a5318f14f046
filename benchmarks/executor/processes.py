"""The processes of a pool's sandboxes, and what they cost in CPU and memory."""

import contextlib
import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from benchmarks.runtime.processes import TICK_SECONDS, command, family, parent, stats
from benchmarks.runtime.processes import rss_mib as rss_mib

_PR_SET_CHILD_SUBREAPER = 36
# Among the fields of a stat: its own times, and those of its children that have ended.
_TIMES = slice(11, 15)


def families(runtime_dir: Path) -> dict[int, set[int]]:
    """By its first process, every sandbox's: runsc's own and what they trace, which carries no command line."""
    mark = f"{runtime_dir}/".encode()
    known = stats()
    marked = {pid for pid in known if mark in command(pid)}
    return {pid: family([pid], known) for pid in marked if parent(known[pid]) not in marked}


def adopt_orphans() -> None:
    """What a sandbox's processes have used counts as ours when they end: a traced one may outlive who would reap it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cpu_seconds() -> float:
    """User and system time until now of this process and of all that it started."""
    known = stats()
    started = family([os.getpid()], known) - {os.getpid()}
    return sum(os.times()[:4]) + sum(int(ticks) for pid in started for ticks in known[pid][_TIMES]) * TICK_SECONDS


def pss_mib(family: Iterable[int]) -> float:
    """Memory in proportion: a page that several processes share counts once in all."""
    return sum(_pss_kib(pid) for pid in family) / 1024


def _pss_kib(pid: int) -> int:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
        return sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return 0
