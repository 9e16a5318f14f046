"""The private folder of a pool: root, bundles, runsc's state, logs; the next start removes it if its owner dies."""

import contextlib
import fcntl
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Iterable
from io import TextIOWrapper
from pathlib import Path

from services.executor.gvisor import cgroups, mounts

_log = logging.getLogger(__name__)

PREFIX = "soliloquy-sandbox-"
OWNER = "owner"
_CGROUPS = "cgroups"


class PrivateFolder:
    """Holds a lock for as long as its process lives: unlike a pid, the kernel never gives that to another."""

    def __init__(self, path: Path, owner: TextIOWrapper) -> None:
        self.path = path
        self._owner = owner

    def note(self, cgroups: Iterable[Path]) -> None:
        """For whoever removes it: only its owner knows where they are."""
        (self.path / _CGROUPS).write_text("".join(f"{folder}\n" for folder in cgroups), "utf-8")

    def remove(self) -> None:
        _remove(self.path)
        self._owner.close()


def claim(runtime_dir: Path) -> PrivateFolder:
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=runtime_dir))
    owner = (path / OWNER).open("w", encoding="utf-8")
    fcntl.flock(owner, fcntl.LOCK_EX)
    owner.write(str(os.getpid()))
    owner.flush()
    return PrivateFolder(path, owner)


def sweep(runtime_dir: Path) -> None:
    """Ends and removes what owners that were killed have left."""
    for path in runtime_dir.glob(f"{PREFIX}*"):
        # Or another start has swept it meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_uid == os.geteuid():
                _remove_if_stale(path)


def clear(path: Path) -> None:
    """Removes the folder, and first what runsc has mounted in it."""
    mounts.unmount_below(path)
    shutil.rmtree(path)


def _remove_if_stale(path: Path) -> None:
    with (path / OWNER).open("r+", encoding="utf-8") as owner:
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Its owner lives.
            return
        # Empty: its owner is about to take the lock.
        if owner.read():
            _remove(path)


def _remove(path: Path) -> None:
    """In an order in which the next sweep can go on from wherever this one ends."""
    try:
        _end_processes_of(path)
        if (path / _CGROUPS).exists():
            noted = map(Path, (path / _CGROUPS).read_text("utf-8").splitlines())
            cgroups.remove(folder for folder in noted if folder.name == path.name)
        for entry in filter(Path.is_dir, path.iterdir()):
            clear(entry)
        shutil.rmtree(path)
    except OSError as error:
        _log.warning("%s cannot be removed: %s", path, error)


def _end_processes_of(path: Path) -> None:
    """Kills every runsc that was started on the folder; its sandbox dies with it."""
    marks = (f"--root={path}/".encode(), f"--bundle={path}/".encode())
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if any(word.startswith(marks) for word in (process / "cmdline").read_bytes().split(b"\0")):
                os.kill(int(process.name), signal.SIGKILL)
