"""The private folder of a pool: bundle, runsc's state, logs; found and removed by the next start if its owner dies."""

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
from io import TextIOWrapper
from pathlib import Path

PREFIX = "soliloquy-sandbox-"
OWNER = "owner"


class PrivateFolder:
    """Holds a lock for as long as its process lives: unlike a pid, the kernel never gives that to another."""

    def __init__(self, path: Path, owner: TextIOWrapper) -> None:
        self.path = path
        self._owner = owner

    def remove(self) -> None:
        shutil.rmtree(self.path)
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
        if path.stat().st_uid == os.geteuid():
            _remove_if_stale(path)


def _remove_if_stale(path: Path) -> None:
    try:
        with (path / OWNER).open("r+", encoding="utf-8") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Empty: its owner is about to take the lock.
            if owner.read():
                _end_processes_of(path)
                shutil.rmtree(path)
    except (FileNotFoundError, BlockingIOError):
        # Swept by another start meanwhile, or its owner lives.
        return


def _end_processes_of(path: Path) -> None:
    """Kills every runsc that was started on the folder; its sandbox dies with it."""
    marks = (f"--root={path}/".encode(), f"--bundle={path}/".encode())
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if any(word.startswith(marks) for word in (process / "cmdline").read_bytes().split(b"\0")):
                os.kill(int(process.name), signal.SIGKILL)
