"""Control groups that bound whole sandboxes, on machines that let us make them."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.executor.gvisor import mounts

_UNIFIED = Path("/sys/fs/cgroup")
_LIMITS = ("memory.limit_in_bytes", "memory.max")
_SWAP = ("memory.memsw.limit_in_bytes", "memory.swap.max")
_PATIENCE_SECONDS = 2.0


class NoCgroups(Exception):
    """Sandboxes on this machine are bounded from inside only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cgroup:
    """That of a pool, or of one sandbox within it."""

    # What runsc is told.
    path: str
    # Where the limits of memory and of processes are: one folder or two.
    limited: tuple[Path, ...]
    # In hierarchies that we have no use for, but runsc uses too.
    others: tuple[Path, ...]

    @property
    def folders(self) -> tuple[Path, ...]:
        return (*self.limited, *self.others)

    def sub(self, name: str) -> "Cgroup":
        return Cgroup(
            path=f"{self.path}/{name}",
            limited=tuple(folder / name for folder in self.limited),
            others=tuple(folder / name for folder in self.others),
        )

    def make(self) -> None:
        """NoCgroups where it cannot be made, or would limit nothing; what runsc needs beyond it, runsc makes."""
        try:
            for folder in self.limited:
                folder.mkdir()
        except OSError as error:
            remove(self.folders)
            raise NoCgroups(f"no control group can be made: {error}") from error
        files = {file.name for folder in self.limited for file in folder.iterdir()}
        if files.isdisjoint(_LIMITS) or "pids.max" not in files:
            remove(self.folders)
            raise NoCgroups(f"the control group {self.limited[0].parent} does not pass memory and pids on")

    def limits(self, *, memory_bytes: int, pids: int) -> dict[str, Any]:
        """In the words of an OCI bundle; no swap, where that is counted."""
        memory = {"limit": memory_bytes}
        if any((self.limited[0].parent / name).exists() for name in _SWAP):
            memory["swap"] = memory_bytes
        return {"cgroupsPath": self.path, "resources": {"memory": memory, "pids": {"limit": pids}}}

    def binds(self, memory_bytes: int) -> bool:
        """Whether somebody is in it and may have no more: runtimes have been seen to set no limit and say nothing."""
        told = [(self.limited[0] / name).read_text("ascii") for name in _LIMITS if (self.limited[0] / name).exists()]
        limits = [int(limit) for limit in told if limit.strip().isdigit()]
        return any(limit <= memory_bytes for limit in limits) and all(_processes(folder) for folder in self.limited)


def find(name: str) -> Cgroup:
    """Where a pool's would be; NoCgroups says why there can be none."""
    if os.geteuid() != 0:
        raise NoCgroups("only root can have control groups made by runsc")
    return placed(name, mounts.MOUNTINFO.read_text("utf-8"), Path("/proc/self/cgroup").read_text("utf-8"))


def placed(name: str, mountinfo: str, own: str) -> Cgroup:
    """By what the kernel says of this process: its mounts, and the cgroups it is in."""
    mounted = list(mounts.parse(mountinfo))
    places = dict(line.split(":", 2)[1:] for line in own.splitlines())
    if any(mount.point == _UNIFIED and mount.kind == "cgroup2" for mount in mounted):
        # Processes live in leaves only: beside our own, then.
        path = Path(places[""]).parent / name
        return Cgroup(path=str(path), limited=(_UNIFIED / path.relative_to("/"),), others=())
    ours = {
        controller: mount.point / Path(place).relative_to(mount.root) / name
        for controllers, place in places.items()
        for controller in controllers.split(",")
        for mount in mounted
        if mount.kind == "cgroup" and controller in mount.options and Path(place).is_relative_to(mount.root)
    }
    try:
        limited = dict.fromkeys((ours.pop("memory"), ours.pop("pids")))
    except KeyError as missing:
        raise NoCgroups(f"no hierarchy of control groups is mounted for {missing}") from None
    return Cgroup(path=name, limited=tuple(limited), others=tuple(dict.fromkeys(set(ours.values()) - set(limited))))


def remove(folders: Iterable[Path]) -> None:
    """Ends whoever is left in them; OSError where that does not help."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for folder in [Path(path) for top in folders for path, _, _ in os.walk(top, topdown=False)]:
        while folder.exists():
            for pid in _processes(folder):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            try:
                folder.rmdir()
            except FileNotFoundError:
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.005)


def _processes(folder: Path) -> list[int]:
    # One of another pid namespace is shown as 0, which to kill() is we ourselves.
    with contextlib.suppress(FileNotFoundError):
        return [pid for word in (folder / "cgroup.procs").read_text("ascii").split() if (pid := int(word))]
    return []
