"""The folder of a dataset: one run's, and one process's at a time."""

import fcntl
import json
import os
import shutil
from pathlib import Path
from typing import Any, Self

from services.cli.failure import Failure
from services.cli.plan import Plan, difference
from services.collector.dataset import CONVERSATIONS, MANIFEST, read_manifest


class RunFolder:
    """Opened for a plan: empty, or holding the unfinished files of the very same run, or its finished ones."""

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path = path
        self.working = path / ".run"
        self._plan = plan
        self._lock: int | None = None
        self.manifest: dict[str, Any] | None = None

    @property
    def log(self) -> Path:
        return self.working / "log.sqlite"

    @property
    def journal(self) -> Path:
        return self.working / "journal.jsonl"

    def __enter__(self) -> Self:
        try:
            self._open()
        except OSError as error:
            raise Failure(f"{self.path} cannot be written ({error.strerror}): choose another --out") from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            os.close(self._lock)

    def remove_working_files(self) -> None:
        shutil.rmtree(self.working)

    def _open(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        self.manifest = self._read_manifest()
        if self.manifest is not None:
            self._check(self.manifest["run"])
            return
        if (self.path / CONVERSATIONS).exists() and not self.working.exists():
            raise Failure(f"{self.path} holds a {CONVERSATIONS} without its {MANIFEST}: choose another --out")
        self.working.mkdir(exist_ok=True)
        self._take_lock()
        identity = self.working / "run.json"
        if identity.exists():
            self._check(_read_json(identity))
        else:
            unfinished = identity.with_suffix(".unfinished")
            unfinished.write_text(json.dumps(self._plan.identity(), indent=2), "utf-8")
            unfinished.replace(identity)

    def _read_manifest(self) -> dict[str, Any] | None:
        try:
            return read_manifest(self.path)
        except ValueError as error:
            raise Failure(f"{self.path / MANIFEST} is not readable ({error}): choose another --out") from error

    def _check(self, kept: dict[str, Any]) -> None:
        if differs := difference(kept, self._plan.identity()):
            raise Failure(f"{self.path} holds another run ({differs}): choose another --out")

    def _take_lock(self) -> None:
        self._lock = os.open(self.working / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(f"another process is growing {self.path}: wait for it, or choose another --out") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except ValueError as error:
        raise Failure(f"{path} is not readable ({error}): remove {path.parent} to start the run anew") from error
