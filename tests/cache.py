"""Keeps what tests fetch from package registries outside the tree, shared by all checkouts with the same inputs."""

import fcntl
import functools
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path


def home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "soliloquy"


def place(name: str, *asked: Path) -> Path:
    """Returns the folder for the content of files; other content gets another folder."""
    content = b"".join(file.read_bytes() for file in asked)
    return home() / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}"


@functools.cache
def failure(folder: Path, fetch: Callable[[Path], str | None]) -> str | None:
    """Returns None once the folder is complete: one process fetches and the others wait.

    A failure is remembered, so that of many tests only the first waits for a registry that cannot be reached.
    """
    if folder.exists():
        return None
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return None
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        if (why := fetch(partial)) is None:
            partial.rename(folder)
        return why
