"""Control groups that bound whole sandboxes, on machines where they can be created."""

import contextlib
import errno
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy_services.executor.gvisor import bundle

_UNIFIED = Path("/sys/fs/cgroup")
_LIMITS = ("memory.limit_in_bytes", "memory.max")
_SWAP = ("memory.memsw.limit_in_bytes", "memory.swap.max")
_PATIENCE_SECONDS = 2.0
# Errors of a machine where this user cannot make groups; any other error may pass.
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT)


class NoCgroups(Exception):
    """Sandboxes on this machine can only be bounded from inside."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cgroup:
    """The control group of a pool, or of one sandbox within it."""

    # As runsc expects it.
    path: str
    # The folders with the limits of memory and processes: one or two.
    limited: tuple[Path, ...]
    # Folders in the other hierarchies, which only runsc uses.
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
        """Raises NoCgroups if it cannot be created or would limit nothing; runsc creates the rest of what it needs."""
        try:
            for folder in self.limited:
                folder.mkdir()
        except OSError as error:
            remove(self.folders)
            if error.errno not in _DENIED:
                raise
            raise NoCgroups(f"cannot create a control group: {error}") from error
        files = {file.name for folder in self.limited for file in folder.iterdir()}
        if files.isdisjoint(_LIMITS) or "pids.max" not in files:
            remove(self.folders)
            raise NoCgroups(f"the control group {self.limited[0].parent} does not delegate memory and pids")

    def limits(self, *, memory_bytes: int, pids: int) -> dict[str, Any]:
        """Returns the limits in OCI terms; forbids swap if the kernel accounts for it."""
        memory = {"limit": memory_bytes}
        if any((self.limited[0].parent / name).exists() for name in _SWAP):
            memory["swap"] = memory_bytes
        return {"cgroupsPath": self.path, "resources": {"memory": memory, "pids": {"limit": pids}}}

    def binds(self, memory_bytes: int) -> bool:
        """Returns whether the limit is set and a process is in it: some runtimes silently set no limit."""
        values = [(self.limited[0] / name).read_text("ascii") for name in _LIMITS if (self.limited[0] / name).exists()]
        limits = [int(limit) for limit in values if limit.strip().isdigit()]
        return any(limit <= memory_bytes for limit in limits) and all(_processes(folder) for folder in self.limited)


def find(name: str) -> Cgroup:
    """Returns the control group that a pool can create; raises NoCgroups if it can create none."""
    if os.geteuid() != 0:
        raise NoCgroups("runsc creates control groups only as root")
    return placed(name, bundle.MOUNTINFO.read_text("utf-8"), Path("/proc/self/cgroup").read_text("utf-8"))


def placed(name: str, mountinfo: str, own: str) -> Cgroup:
    """Derives the control group from this process's mounts and its own control groups."""
    mounted = list(bundle.parse(mountinfo))
    places = dict(line.split(":", 2)[1:] for line in own.splitlines())
    if any(mount.point == _UNIFIED and mount.kind == "cgroup2" for mount in mounted):
        # Only leaves may hold processes, so it goes beside our own group.
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
        raise NoCgroups(f"no control group hierarchy is mounted for {missing}") from None
    return Cgroup(path=name, limited=tuple(limited), others=tuple(dict.fromkeys(set(ours.values()) - set(limited))))


def remove(folders: Iterable[Path]) -> None:
    """Kills the processes left in the groups and removes them; raises OSError if that fails."""
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
    # A process of another pid namespace is listed as 0, which kill() would take for our own group.
    with contextlib.suppress(FileNotFoundError):
        return [pid for word in (folder / "cgroup.procs").read_text("ascii").split() if (pid := int(word))]
    return []
