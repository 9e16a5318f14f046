"""The folder of a dataset: it holds one run, and one process at a time writes it."""

import contextlib
import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from soliloquy.dataset.layout import KINDS, UNFINISHED_PROMPTS, WORKING
from soliloquy.dataset.lineage import descriptions_in
from soliloquy.dataset.lock import Locked, write_lock
from soliloquy.dataset.manifest import MANIFEST, UnreadableManifest, read_manifest, services_in
from soliloquy.dataset.storage import Storage, StorageUnavailable
from soliloquy.recipes.prompts import own_texts
from soliloquy.runs.plan import Plan, difference
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import atomic_file, read_json, refuse_foreign, unwritable
from soliloquy.runtime.model.agreements import FILE
from soliloquy.runtime.model.spending import SPENDING_FILE
from soliloquy.v1.events_pb2 import ServiceDescribed

# A file of unfinished runs in the first format.
_FIRST_FORMAT = "journal.jsonl"
_IDENTITY = "run.json"

_log = logging.getLogger(__name__)


class RunFolder:
    """Opens for a plan if it is empty, or if it holds the same run or its beginning, finished or not."""

    def __init__(self, place: Storage, plan: Plan, work: Path | None) -> None:
        """`work` is a local folder for the unfinished run; a dataset in an object store requires it."""
        folder = work or place.folder
        if folder is None:
            raise Failure(f"--out {place} requires --work DIR: an unfinished run is kept on a local disk")
        self.place = place
        self.working = folder / WORKING
        self._plan = plan
        self._held = ExitStack()
        # The manifest of the finished run; None if the run is not finished.
        self.manifest: dict[str, Any] | None = None
        # Whether it holds a finished run of fewer conversations.
        self.is_extended = False
        # The bill of that run's requests.
        self.earlier_accounts: Sequence[Mapping[str, Any]] = ()
        # The services that took part in it.
        self.earlier_services: Sequence[ServiceDescribed] = ()
        # The folders that did not exist, the innermost first.
        self._made: list[Path] = []

    @property
    def log(self) -> Path:
        return self.working / "log.sqlite"

    @property
    def journal(self) -> Path:
        return self.working / "journal"

    @property
    def findings(self) -> Path:
        """The facts that the run has learned about its endpoints."""
        return self.working / FILE

    @property
    def spending(self) -> Path:
        """The bill of its requests."""
        return self.working / SPENDING_FILE

    def __enter__(self) -> Self:
        try:
            with ExitStack() as undo:
                undo.push(self._held)
                self._open()
                undo.pop_all()
        except StorageUnavailable as error:
            raise Failure(str(error)) from error
        except (Locked, UnreadableManifest) as error:
            raise Failure(f"{error}: choose another --out") from error
        except OSError as error:
            raise unwritable(self.place, error, "choose another --out", resumes=True) from error
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error and self._has_nothing():
            shutil.rmtree(self.working)
            for folder in self._made[1:]:
                # Another process may have put something there.
                with contextlib.suppress(OSError):
                    folder.rmdir()
        self._held.close()

    def remove_working_files(self) -> None:
        shutil.rmtree(self.working)

    def _open(self) -> None:
        manifest = read_manifest(self.place)
        if manifest is not None:
            self._check(manifest["run"])
            if manifest["run"]["conversations"] == self._plan.conversations:
                self.manifest = manifest
                return
            self.is_extended = True
            self.earlier_accounts = manifest["arrival"].get("spent", ())
            self.earlier_services = descriptions_in(services_in(manifest))
        elif not self.working.exists():
            self._refuse_others()
        if (self.working / _FIRST_FORMAT).exists():
            raise Failure(f"{self.place} holds an unfinished run of an earlier version: choose another --out")
        self._made = [each for each in (self.working, *self.working.parents) if not each.exists()]
        self.working.mkdir(parents=True, exist_ok=True)
        self._held.enter_context(write_lock(self.place, self.working))
        identity = self.working / _IDENTITY
        if identity.exists():
            recorded = _read_json(identity)
            differs = self._difference(recorded)
            if manifest is None and not self._has_conversations() and differs:
                # A run that has no conversation yet claims nothing: its options may have been wrong.
                _log.warning("%s held another run without a conversation (%s): it is replaced", self.place, differs)
                self._forget()
            else:
                self._check(recorded)
        with atomic_file(identity) as file:
            file.write(json.dumps(self._plan.identity(), indent=2).encode())
        if self._plan.prompts:
            with atomic_file(self.working / UNFINISHED_PROMPTS) as file:
                file.write(json.dumps(own_texts(self._plan.recipe) | dict(self._plan.prompts)).encode())

    def _has_nothing(self) -> bool:
        """Whether the run stopped before it did anything that it could resume."""
        if not self.working.exists() or self._has_conversations():
            return False
        spending = {SPENDING_FILE, f"{SPENDING_FILE}-wal", f"{SPENDING_FILE}-shm"}
        written = {"lock", "owner", self.journal.name, FILE, _IDENTITY, UNFINISHED_PROMPTS, *spending}
        return {path.name for path in self.working.iterdir()} <= written

    def _has_conversations(self) -> bool:
        return self.journal.exists() and self.journal.stat().st_size > 0

    def _forget(self) -> None:
        for path in self.working.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "lock":
                path.unlink()

    def _refuse_others(self) -> None:
        """Raises Failure if the folder or the working folder holds files that are not of a run."""
        if self.place.folder:
            refuse_foreign(self.place.folder)
        if self.working.parent != self.place.folder:
            refuse_foreign(self.working.parent, option="--work")
        if self.place.folder is None and (found := [name for kind in KINDS for name in self.place.names(kind)]):
            raise Failure(f"{self.place} holds {found[0]} and no {MANIFEST}: choose another --out")

    def _difference(self, identity: dict[str, Any]) -> str:
        """Returns the first difference from the plan except in conversations; empty if there is none."""
        return difference(identity, self._plan.identity() | {"conversations": identity.get("conversations", 0)})

    def _check(self, identity: dict[str, Any]) -> None:
        """Refuses another run, and one of more conversations: a run can be extended and never shortened."""
        wanted, there = self._plan.conversations, identity.get("conversations", 0)
        if differs := self._difference(identity):
            raise Failure(f"{self.place} holds another run ({differs}): choose another --out")
        if there > wanted:
            raise Failure(
                f"{self.place} holds a run of {there} conversations, which {wanted} cannot shorten: "
                "choose another --out"
            )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(read_json(path))
    except (OSError, ValueError, TypeError) as error:
        raise Failure(f"{path} cannot be read ({error}): remove {path.parent} to restart the run") from error
