"""One writer a dataset, whoever else tries."""

import fcntl
import json
import os
import platform
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from soliloquy.dataset.storage import Storage, StorageUnavailable

LOCK = "lock.json"


class Locked(Exception):
    """Another process writes there; the message says which, as far as it is known."""


@contextmanager
def write_lock(place: Storage, working: Path) -> Iterator[None]:
    """Held by one process of all that share the working folder, and in an object store by one working folder of all.

    The first ends with its process, however that ends. The second is an object that only the first to ask can create
    (as far as the store keeps that promise: S3 does); a process that was killed leaves it behind, for the next start on
    the same working folder to find.
    """
    lock = os.open(working / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Locked(f"another process writes {place}") from None
        if place.folder is not None:
            yield
            return
        _take(place, working)
        try:
            yield
        finally:
            # Where the store is gone, the next start finds the lock to be its own.
            with suppress(StorageUnavailable):
                place.remove(LOCK)
    finally:
        os.close(lock)


def _take(place: Storage, working: Path) -> None:
    owner = _owner(working)
    claim = {"owner": owner, "host": platform.node(), "process": os.getpid(), "since": time.ctime()}
    if place.create(LOCK, json.dumps(claim).encode()):
        return
    held = json.loads(place.read(LOCK) or b"{}")
    if held.get("owner") != owner:
        raise Locked(
            f"process {held.get('process')} of {held.get('host')} writes {place} since {held.get('since')}; "
            f"if it is no more, remove {place}/{LOCK}"
        )


def _owner(working: Path) -> str:
    """The name of the working folder, the same at each start."""
    path = working / "owner"
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(uuid.uuid4().hex, "utf-8")
        unfinished.replace(path)
    return path.read_text("utf-8")
