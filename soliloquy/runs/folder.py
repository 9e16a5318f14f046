"""The folder of a dataset: it holds one run, and one process at a time writes it."""

import json
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from soliloquy.dataset.layout import KINDS
from soliloquy.dataset.lock import Locked, write_lock
from soliloquy.dataset.manifest import MANIFEST, UnreadableManifest, read_manifest
from soliloquy.dataset.storage import Storage, StorageUnavailable
from soliloquy.runs.plan import Plan, difference
from soliloquy.runtime.atomic_file import atomic_file
from soliloquy.runtime.failure import Failure

WORKING = ".run"
# A file of unfinished runs in the first format.
_FIRST_FORMAT = "journal.jsonl"


class RunFolder:
    """Opens for a plan if it is empty, or if it holds the same run, finished or not."""

    def __init__(self, place: Storage, plan: Plan, work: Path | None) -> None:
        """`work` is a local folder for the unfinished run; a dataset in an object store requires it."""
        folder = work or place.folder
        if folder is None:
            raise Failure(f"--out {place} requires --work DIR: an unfinished run is kept on a local disk")
        self.place = place
        self.working = folder / WORKING
        self._plan = plan
        self._held = ExitStack()
        self.manifest: dict[str, Any] | None = None

    @property
    def log(self) -> Path:
        return self.working / "log.sqlite"

    @property
    def journal(self) -> Path:
        return self.working / "journal"

    def __enter__(self) -> Self:
        try:
            self._open()
        except StorageUnavailable as error:
            raise Failure(str(error)) from error
        except (Locked, UnreadableManifest) as error:
            raise Failure(f"{error}: choose another --out") from error
        except OSError as error:
            raise Failure(f"{self.place} cannot be written ({error.strerror}): choose another --out") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def remove_working_files(self) -> None:
        shutil.rmtree(self.working)

    def _open(self) -> None:
        self.manifest = read_manifest(self.place)
        if self.manifest is not None:
            self._check(self.manifest["run"])
            return
        if not self.working.exists() and (found := [name for kind in KINDS for name in self.place.names(kind)]):
            raise Failure(f"{self.place} holds {found[0]} and no {MANIFEST}: choose another --out")
        if (self.working / _FIRST_FORMAT).exists():
            raise Failure(f"{self.place} holds an unfinished run of an earlier version: choose another --out")
        self.working.mkdir(parents=True, exist_ok=True)
        self._held.enter_context(write_lock(self.place, self.working))
        identity = self.working / "run.json"
        if identity.exists():
            self._check(_read_json(identity))
        else:
            with atomic_file(identity) as file:
                file.write(json.dumps(self._plan.identity(), indent=2).encode())

    def _check(self, identity: dict[str, Any]) -> None:
        if differs := difference(identity, self._plan.identity()):
            raise Failure(f"{self.place} holds another run ({differs}): choose another --out")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except ValueError as error:
        raise Failure(f"{path} cannot be read ({error}): remove {path.parent} to restart the run") from error
