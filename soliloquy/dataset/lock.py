"""Lets one process at a time write a dataset."""

import fcntl
import json
import os
import platform
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from soliloquy.dataset.storage import Storage, StorageUnavailable
from soliloquy.runtime.files import atomic_file

# The lock of a folder, and of an object store.
FOLDER_LOCK = "lock"
LOCK = "lock.json"


class Locked(Exception):
    """Another process is writing the dataset; the message names it if it is known."""


@contextmanager
def write_lock(storage: Storage, working: Path) -> Iterator[Callable[[], bool]]:
    """Locks the working folder for this process and, in an object store, the dataset for this working folder.

    Yields whether the lock is still there: who deletes what it protects deletes it too.

    The lock of the folder ends with its process. The lock in a store is an object that only one caller can create (S3,
    Google's and Azure's stores guarantee that; others may not). A killed process leaves it behind, and the next start
    with the same working folder takes it over.
    """
    path = working / FOLDER_LOCK
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)

    def is_there() -> bool:
        is_ours = path.exists() and os.path.samestat(path.stat(), os.fstat(lock))
        return is_ours and (storage.folder is not None or storage.read(LOCK) is not None)

    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Locked(f"another process is writing {storage}") from None
        if storage.folder is not None:
            yield is_there
            return
        _take(storage, working)
        try:
            yield is_there
        finally:
            # If the store is away, the lock stays, and the next start recognises it as its own.
            with suppress(StorageUnavailable):
                storage.remove(LOCK)
    finally:
        os.close(lock)


def _take(storage: Storage, working: Path) -> None:
    owner = _owner(working)
    claim = {"owner": owner, "host": platform.node(), "process": os.getpid(), "since": time.ctime()}
    if storage.create(LOCK, json.dumps(claim).encode()):
        return
    held = json.loads(storage.read(LOCK) or b"{}")
    if held.get("owner") != owner:
        raise Locked(
            f"process {held.get('process')} of {held.get('host')} is writing {storage} since {held.get('since')}; "
            f"if it no longer runs, remove {storage}/{LOCK}"
        )


def _owner(working: Path) -> str:
    """Returns the id of the working folder, which it keeps across restarts."""
    path = working / "owner"
    if not path.exists():
        with atomic_file(path) as file:
            file.write(uuid.uuid4().hex.encode())
    return path.read_text("utf-8")
