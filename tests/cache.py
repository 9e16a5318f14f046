"""What tests fetch from package registries: kept outside the tree, shared by every checkout that asks for the same."""

import fcntl
import functools
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path


def home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "soliloquy"


def place(name: str, asked: Path) -> Path:
    """Where what the file asks for is kept; another content is another place."""
    return home() / f"{name}-{hashlib.sha256(asked.read_bytes()).hexdigest()[:16]}"


@functools.cache
def failure(folder: Path, fetch: Callable[[Path], str | None]) -> str | None:
    """None once the folder is there, whole: of several processes that need it, one fetches and the others wait.

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
