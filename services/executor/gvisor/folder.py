"""A pool's private folder: root, bundles, runsc's state and logs; the next start removes it if its owner died."""

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

from soliloquy_services.executor.gvisor import bundle, cgroups

_log = logging.getLogger(__name__)

PREFIX = "soliloquy-sandbox-"
OWNER = "owner"
_CGROUPS = "cgroups"


class PrivateFolder:
    """Holds a lock while its process lives; a pid would not do, because the kernel reuses pids."""

    def __init__(self, path: Path, owner: TextIOWrapper) -> None:
        self.path = path
        self._owner = owner

    def note(self, cgroups: Iterable[Path]) -> None:
        """Records the control groups to remove with the folder."""
        (self.path / _CGROUPS).write_text("".join(f"{folder}\n" for folder in cgroups), "utf-8")

    def remove(self) -> None:
        """Also ends the sandboxes that are left in it."""
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
    """Removes the folders of killed owners, and ends their processes."""
    for path in runtime_dir.glob(f"{PREFIX}*"):
        # Another start may have swept it meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_uid == os.geteuid():
                _remove_if_stale(path)


def clear(path: Path) -> None:
    """Removes the folder after unmounting what runsc has mounted in it."""
    bundle.unmount_below(path)
    shutil.rmtree(path)


def _remove_if_stale(path: Path) -> None:
    with (path / OWNER).open("r+", encoding="utf-8") as owner:
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Its owner is alive.
            return
        # Empty: its owner is about to take the lock.
        if owner.read():
            _remove(path)


def _remove(path: Path) -> None:
    """Removes the parts in an order that lets the next sweep continue wherever this one fails."""
    try:
        _end_processes_of(path)
        if (path / _CGROUPS).exists():
            noted = map(Path, (path / _CGROUPS).read_text("utf-8").splitlines())
            cgroups.remove(folder for folder in noted if folder.name == path.name)
        for entry in filter(Path.is_dir, path.iterdir()):
            clear(entry)
        shutil.rmtree(path)
    except OSError as error:
        _log.warning("cannot remove %s: %s", path, error)


def _end_processes_of(path: Path) -> None:
    """Kills every runsc that was started on the folder, and with it its sandbox."""
    marks = (f"--root={path}/".encode(), f"--bundle={path}/".encode())
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if any(word.startswith(marks) for word in (process / "cmdline").read_bytes().split(b"\0")):
                os.kill(int(process.name), signal.SIGKILL)
